"""What engines make of states, by the rules in their sources."""

from __future__ import annotations

from typing import Any

import hfinspect

from .test_memory import MAMBA

#: Two mixers and one attention layer: four key/value heads of 16, states of 8 · 16 · 12 numbers.
BAMBA: dict[str, Any] = {
    "model_type": "bamba", "architectures": ["BambaForCausalLM"], "hidden_size": 64,
    "num_hidden_layers": 3, "attn_layer_indices": [1], "num_attention_heads": 4,
    "num_key_value_heads": 4, "intermediate_size": 96, "mamba_n_heads": 8, "mamba_d_head": 16,
    "mamba_d_state": 12, "mamba_n_groups": 2, "mamba_expand": 2, "dtype": "bfloat16",
    "vocab_size": 100,
}  # fmt: skip
CONVOLUTION = (8 * 16 + 2 * 2 * 12) * 3 * 2


def _cache(config: dict[str, Any], engine: str, **more: Any) -> Any:
    found = hfinspect.memory(config, engine=engine, **{"context": 64, **more})
    assert found.cache is not None
    return found.cache


def test_states_are_in_the_dtype_that_the_engine_chooses() -> None:
    """Recurrent states of 3 · 8 · 16 · 12 numbers: float32 in transformers and SGLang, whose config
    key can change it, the model's dtype in vLLM."""
    numbers = 3 * 8 * 16 * 12
    convolutions = 3 * CONVOLUTION
    sizes = {
        name: _cache(MAMBA, name).state_bytes - convolutions
        for name in ("sglang", "vllm", "logical")
    }
    assert sizes == {"sglang": 4 * numbers, "vllm": 2 * numbers, "logical": 4 * numbers}
    named = {**MAMBA, "mamba_ssm_dtype": "bfloat16"}
    assert _cache(named, "sglang").state_bytes - convolutions == 2 * numbers


def test_pages_of_vllm_hold_a_layers_states() -> None:
    """A state of 1,536 numbers and its convolution take 4,128 bytes; a token's keys and values 256:
    blocks of 32 tokens are the first multiple of 16 that holds it. Both mixers get such a page, and
    the attention layer's 100 tokens four of them."""
    state = 8 * 16 * 12 * 2 + CONVOLUTION
    assert (state, state > 16 * 256, state <= 32 * 256) == (4128, True, True)
    found = _cache(BAMBA, "vllm", context=100)
    assert found.state_bytes == 2 * 32 * 256
    assert found.kv_bytes == 128 * 256
    (padding,) = [group for group in found.layers if group.label == "padding to pages"]
    assert padding.nbytes == 2 * (32 * 256 - state)


def test_a_page_fits_without_padding_where_there_are_states_alone() -> None:
    labels = [group.label for group in _cache(MAMBA, "vllm").layers]
    assert "padding to pages" not in labels


def test_indexers_are_in_float8_in_both_engines() -> None:
    config = {
        "model_type": "deepseek_v32", "architectures": ["DeepseekV32ForCausalLM"],
        "num_hidden_layers": 2, "n_routed_experts": 8,
    }  # fmt: skip
    for engine in ("vllm", "sglang"):
        groups = _cache(config, engine, context=16).layers
        (indexer,) = [group for group in groups if "indexer" in group.label]
        assert indexer.nbytes == 2 * 16 * (128 + 4)
