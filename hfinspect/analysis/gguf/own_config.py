"""The config.json that a GGUF file's own key-values amount to, where the architecture is known.

Source of the keys: gguf-py/gguf/constants.py, and what llama.cpp's convert_hf_to_gguf.py writes for
each architecture. What the key-values leave open (biases, a separate head) is read off the names of
the tensors; what neither says makes the whole unknown.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ...formats.gguf.gguf import describe
from ...formats.gguf.metadata import GgufFacts

_Config = dict[str, Any]


def config_of(metadata: Mapping[str, object], names: Collection[str]) -> _Config | None:
    """A config for the catalog, or None where the architecture is not known here or the file
    leaves a number out."""
    facts = describe(metadata)
    build = _BUILDERS.get(facts.architecture or "")
    if build is None or facts.type != "model":
        return None
    sizes = (facts.hidden_size, facts.layers, facts.heads, facts.kv_heads, facts.vocab_size)
    lengths = (facts.intermediate_size, facts.context_length)
    if not all(type(size) is int and size > 0 for size in (*sizes, *lengths)):
        return None
    if (facts.layers or 0) > len(names):
        return None  # a layer has a tensor at least: the number is made up
    return build(facts, metadata, frozenset(names))


def _common(facts: GgufFacts, names: frozenset[str], model_type: str, class_name: str) -> _Config:
    return {
        "model_type": model_type,
        "architectures": [class_name],
        "hidden_size": facts.hidden_size,
        "intermediate_size": facts.intermediate_size,
        "num_hidden_layers": facts.layers,
        "num_attention_heads": facts.heads,
        "num_key_value_heads": facts.kv_heads,
        "head_dim": facts.head_dim,
        "vocab_size": facts.vocab_size,
        "max_position_embeddings": facts.context_length,
        "tie_word_embeddings": "output.weight" not in names,
    }


def _llama(facts: GgufFacts, _: Mapping[str, object], names: frozenset[str]) -> _Config | None:
    biases = ["blk.0.attn_q.bias" in names, "blk.0.attn_output.bias" in names]
    if biases[0] != biases[1]:
        return None  # InternLM and others under the name of Llama
    if facts.experts:
        config = _common(facts, names, "mixtral", "MixtralForCausalLM")
        experts = {"num_local_experts": facts.experts, "num_experts_per_tok": facts.experts_used}
        return None if biases[0] else {**config, **experts}
    return {
        **_common(facts, names, "llama", "LlamaForCausalLM"),
        "attention_bias": biases[0],
        "mlp_bias": "blk.0.ffn_up.bias" in names,
    }


def _plain(model_type: str, class_name: str) -> Callable[..., _Config | None]:
    """Families whose key-values are all that their configs say of shapes."""

    def build(facts: GgufFacts, _: Mapping[str, object], names: frozenset[str]) -> _Config | None:
        return _common(facts, names, model_type, class_name)

    return build


def _gemma(model_type: str, class_name: str, window: int | None) -> Callable[..., _Config | None]:
    """Gemma 2 and 3: which layers look back how far is the class's rule; ``window`` is llama.cpp's
    where the file says none (None: no layer has one). Source: src/llama-model.cpp."""

    def build(
        facts: GgufFacts, metadata: Mapping[str, object], names: frozenset[str]
    ) -> _Config | None:
        config = _common(facts, names, model_type, class_name)
        sliding = metadata.get(f"{facts.architecture}.attention.sliding_window", window)
        if sliding is None:
            return {**config, "layer_types": ["full_attention"] * (facts.layers or 0)}
        is_size = type(sliding) is int and sliding > 0
        return {**config, "sliding_window": sliding} if is_size else None

    return build


def _qwen_moe(
    facts: GgufFacts, metadata: Mapping[str, object], names: frozenset[str]
) -> _Config | None:
    model_type = {"qwen2moe": "qwen2_moe", "qwen3moe": "qwen3_moe"}[facts.architecture or ""]
    class_name = "Qwen2MoeForCausalLM" if model_type == "qwen2_moe" else "Qwen3MoeForCausalLM"
    shared = metadata.get(f"{facts.architecture}.expert_shared_feed_forward_length")
    if facts.expert_intermediate_size is None or facts.experts is None:
        return None
    if model_type == "qwen2_moe" and type(shared) is not int:
        return None
    config = {
        **_common(facts, names, model_type, class_name),
        "num_experts": facts.experts,
        "num_experts_per_tok": facts.experts_used,
        "moe_intermediate_size": facts.expert_intermediate_size,
        "decoder_sparse_step": 1,
    }
    return config if shared is None else {**config, "shared_expert_intermediate_size": shared}


def _gpt2(facts: GgufFacts, _: Mapping[str, object], names: frozenset[str]) -> _Config | None:
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "n_embd": facts.hidden_size,
        "n_layer": facts.layers,
        "n_head": facts.heads,
        "n_inner": facts.intermediate_size,
        "n_positions": facts.context_length,
        "vocab_size": facts.vocab_size,
        "tie_word_embeddings": "output.weight" not in names,
    }


def _bloom(facts: GgufFacts, _: Mapping[str, object], names: frozenset[str]) -> _Config | None:
    if facts.intermediate_size != 4 * (facts.hidden_size or 0):
        return None
    return {
        "model_type": "bloom",
        "architectures": ["BloomForCausalLM"],
        "hidden_size": facts.hidden_size,
        "n_layer": facts.layers,
        "n_head": facts.heads,
        "vocab_size": facts.vocab_size,
        "tie_word_embeddings": "output.weight" not in names,
    }


def _falcon(facts: GgufFacts, _: Mapping[str, object], names: frozenset[str]) -> _Config | None:
    return {
        **_common(facts, names, "falcon", "FalconForCausalLM"),
        "num_kv_heads": facts.kv_heads,
        "ffn_hidden_size": facts.intermediate_size,
        "new_decoder_architecture": "blk.0.attn_norm_2.weight" in names,
        "multi_query": facts.kv_heads == 1,
        "parallel_attn": True,
        "bias": "blk.0.ffn_up.bias" in names,
        "alibi": False,
    }


#: ``general.architecture`` -> how its config is put together.
_BUILDERS: Mapping[str, Callable[..., _Config | None]] = {
    "llama": _llama,
    "qwen2": _plain("qwen2", "Qwen2ForCausalLM"),
    "qwen3": _plain("qwen3", "Qwen3ForCausalLM"),
    "qwen2moe": _qwen_moe,
    "qwen3moe": _qwen_moe,
    "gemma": _plain("gemma", "GemmaForCausalLM"),
    "gemma2": _gemma("gemma2", "Gemma2ForCausalLM", 4096),
    "gemma3": _gemma("gemma3_text", "Gemma3ForCausalLM", None),
    "phi3": _plain("phi3", "Phi3ForCausalLM"),
    "starcoder2": _plain("starcoder2", "Starcoder2ForCausalLM"),
    "olmo2": _plain("olmo2", "Olmo2ForCausalLM"),
    "smollm3": _plain("smollm3", "SmolLM3ForCausalLM"),
    "gpt2": _gpt2,
    "bloom": _bloom,
    "falcon": _falcon,
}
