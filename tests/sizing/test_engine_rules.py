"""What engines make of states, by the rules in their sources."""

from __future__ import annotations

from typing import Any

import pytest

import hfinspect
from hfinspect.errors import NothingToInspectError
from hfinspect.sizing.curves import curves
from hfinspect.sizing.engines.registry import ENGINES, LOGICAL
from hfinspect.sizing.memory_request import MemoryRequest
from hfinspect.sizing.plan import plan

from .test_memory import MAMBA

#: Two mixers and one attention layer: four key/value heads of 16, states of 8 · 16 · 12 numbers.
HYBRID: dict[str, Any] = {
    "model_type": "granitemoehybrid",
    "architectures": ["GraniteMoeHybridForCausalLM"],
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "layer_types": ["mamba", "attention", "mamba"],
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 96,
    "mamba_n_heads": 8,
    "mamba_d_head": 16,
    "mamba_d_state": 12,
    "mamba_n_groups": 2,
    "mamba_expand": 2,
    "dtype": "bfloat16",
    "vocab_size": 100,
}
BAMBA: dict[str, Any] = {
    "model_type": "bamba",
    "architectures": ["BambaForCausalLM"],
    "num_hidden_layers": 2,
}
CONVOLUTION = (8 * 16 + 2 * 2 * 12) * 3 * 2


def _cache(config: dict[str, Any], engine: str, **more: Any) -> Any:
    memory = hfinspect.memory(config, engine=engine, **{"context": 64, **more})
    assert memory.cache is not None
    return memory.cache


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
    cache = _cache(HYBRID, "vllm", context=100)
    assert cache.state_bytes == 2 * 32 * 256
    assert cache.kv_bytes == 128 * 256
    (padding,) = [group for group in cache.layers if group.label == "padding to pages"]
    assert padding.nbytes == 2 * (32 * 256 - state)


def test_a_page_fits_without_padding_where_there_are_states_alone() -> None:
    labels = [group.label for group in _cache(MAMBA, "vllm").layers]
    assert "padding to pages" not in labels


def test_indexers_are_in_float8_in_both_engines() -> None:
    config = {
        "model_type": "deepseek_v32",
        "architectures": ["DeepseekV32ForCausalLM"],
        "num_hidden_layers": 2,
        "n_routed_experts": 8,
    }
    for engine in ("vllm", "sglang"):
        groups = _cache(config, engine, context=16).layers
        (indexer,) = [group for group in groups if "indexer" in group.label]
        assert indexer.nbytes == 2 * 16 * (128 + 4)


def test_vllm_has_one_state_for_a_sequence() -> None:
    """Without speculation a request has one state of each mixer (MambaSpec: 1 + its blocks)."""
    one, four = (_cache(MAMBA, "vllm", batch=n) for n in (1, 4))
    assert [group.rows for group in one.layers] == [0] * len(one.layers)
    assert four.state_bytes == 4 * one.state_bytes


@pytest.mark.parametrize("engine", ["logical", "transformers", "vllm", "sglang", "llama.cpp"])
def test_engines_keep_nothing_of_an_encoder(engine: str) -> None:
    """vLLM's EncoderOnlyAttentionSpec has no bytes; llama.cpp makes no cache since May 2025 (pull
    request 13108): before, BGE-small's 512 cells of 12 · (384 + 384) numbers stood there unused."""
    bge = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": 384,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
    }
    memory = hfinspect.memory(bge, context=512, engine=engine)
    assert memory.cache is None
    assert memory.cache_unknown == "an encoder keeps nothing between tokens"
    # What stood there unused, as a decoder of the same sizes would use it.
    decoder = {**bge, "architectures": ["BertLMHeadModel"], "is_decoder": True}
    assert _cache(decoder, "transformers", context=512, cache_dtype="f16").kv_bytes == 9_437_184


# ---- which engine runs what


@pytest.mark.parametrize(
    ("config", "engine", "words"),
    [
        (BAMBA, "vllm", "no class BambaForCausalLM; 0.23.0 was the last version that had it"),
        (
            {"model_type": "openai-gpt", "architectures": ["OpenAIGPTLMHeadModel"]},
            "vllm",
            "no class OpenAIGPTLMHeadModel",
        ),
        (BAMBA, "sglang", "SGLang 0.5.23 has no class BambaForCausalLM"),
        ({"model_type": "xglm", "architectures": ["XGLMForCausalLM"]}, "vllm", "no class XGLM"),
        (
            {"model_type": "biogpt", "architectures": ["BioGptForCausalLM"]},
            "llama.cpp",
            "its converter does not take it",
        ),
    ],
)
def test_an_engine_that_cannot_run_a_model_says_so(
    config: dict[str, Any], engine: str, words: str
) -> None:
    memory = hfinspect.memory(config, engine=engine, context=64, on="24GB")
    assert words in memory.cache_unknown
    assert memory.weights.parameters
    assert memory.fits is None
    assert hfinspect.memory(config, context=64).cache is not None


def test_transformers_code_under_an_engine_is_noted() -> None:
    """Its plain keys and values are the engine's; what else a layer keeps is not."""
    plain = {"model_type": "biogpt", "architectures": ["BioGptForCausalLM"]}
    memory = hfinspect.memory(plain, engine="vllm", context=64)
    assert memory.cache is not None
    assert any("it runs transformers' code" in note for note in memory.notes)
    whole = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}
    assert "plain keys and values only" in hfinspect.memory(whole, engine="vllm").cache_unknown


def test_a_page_has_no_curves_of_engines_that_cannot() -> None:
    inspection = hfinspect.inspect(BAMBA)
    prediction = hfinspect.predict(BAMBA)
    memory = plan(inspection, prediction, MemoryRequest(LOGICAL))
    made = curves(inspection, prediction, memory)
    assert made is not None
    assert {curve.engine for curve in made.curves} == {
        "logical",
        "transformers",
        "transformers-static",
        "llama.cpp",
    }


def test_explain_names_the_engines_reason() -> None:
    with pytest.raises(NothingToInspectError, match="has no class BambaForCausalLM"):
        hfinspect.explain_cache(BAMBA, engine="sglang")


@pytest.mark.parametrize(
    ("gib", "step"),
    [(16, 2048), (20, 4096), (40, 4096), (60, 8192), (141, 8192), (160, 16384), (192, 16384)],
)
def test_sglang_takes_larger_steps_on_larger_cards(gib: int, step: int) -> None:
    assert ENGINES["sglang"].on_device(gib * 1024**3, "").step == step
    assert ENGINES["sglang"].step == 8192
