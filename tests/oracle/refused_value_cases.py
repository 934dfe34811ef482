"""Configs of toys with one odd value each, for ``record_refused_values``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

LLAMA: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
QWEN2 = {**LLAMA, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
QWEN3 = {**LLAMA, "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 16}
PHI3 = {**LLAMA, "architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "pad_token_id": 0,
        "original_max_position_embeddings": 1024}  # fmt: skip
BERT: Mapping[str, Any] = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 256,
    "max_position_embeddings": 128,
    "hidden_act": "gelu",
}
GPT2: Mapping[str, Any] = {
    "architectures": ["GPT2LMHeadModel"],
    "model_type": "gpt2",
    "n_embd": 64,
    "n_layer": 2,
    "n_head": 4,
    "vocab_size": 256,
    "n_positions": 128,
    "activation_function": "gelu_new",
}
DEEPSEEK = {
    **LLAMA,
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "num_key_value_heads": 4,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "moe_intermediate_size": 32,
}

_ORIGINAL = {"original_max_position_embeddings": 1024}
_EIGHT = [1.0] * 8
_LONG = {"short_factor": _EIGHT, "long_factor": _EIGHT, **_ORIGINAL}
_SECTION = {"mrope_section": [2, 3, 3]}

#: What may stand under ``rope_scaling``.
_ROPES: tuple[Any, ...] = (
    "linear",
    5,
    None,
    {},
    [],
    {"factor": 8.0},
    {"rope_type": "su", "factor": 8.0},
    {"type": "su", **_LONG},
    {"rope_type": "longrope", **_LONG},
    {"rope_type": "longrope", **_LONG, "short_factor": [1.0] * 4},
    {"rope_type": "longrope", **_LONG, "long_factor": [1.0] * 16},
    {"rope_type": "longrope", "long_factor": _EIGHT},
    {"rope_type": "longrope", **_LONG, "short_factor": "x"},
    {"rope_type": "yarn", "factor": 4.0},
    {"rope_type": "yarn"},
    {"rope_type": "yarn", **_ORIGINAL},
    {"rope_type": "yarn", "factor": "4"},
    {"rope_type": "yarn", "factor": 0.5, "original_max_position_embeddings": 2048},
    {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 0},
    {"rope_type": "yarn", "factor": 2.0, **_ORIGINAL},
    {"rope_type": "llama3", "factor": 8.0},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    {"rope_type": "linear"},
    {"type": "linear", "factor": 8.0},
    {"rope_type": "linear", "factor": None},
    {"rope_type": "linear", "factor": "8"},
    {"type": "linear", "rope_type": "dynamic", "factor": 8.0},
    {"rope_type": "dynamic"},
    {"rope_type": "dynamic", "alpha": 100.0},
    {"type": "mrope"},
    {"type": "mrope", **_SECTION},
    {"rope_type": "default", **_SECTION},
    {"type": "default"},
    {"rope_type": "ntk", "factor": 2.0},
    {"rope_type": None, "factor": 2.0},
    {"rope_type": 5, "factor": 2.0},
    {"rope_type": "YARN", "factor": 2.0},
)
_ACTIVATIONS = ("silu", "gelu", "swiglu", "GELU", "SiLU", "", None, 5, "geglu", "gelu_tanh",
                "relu2")  # fmt: skip
_DTYPES = ("float32", "half", "auto", "bf16", "torch.bfloat16", "fp16", "", None, "FLOAT16",
           "bloat16", "int8", "float8_e4m3fn")  # fmt: skip
_TOKENS = (2, None, [2, 3], "</s>", ["</s>"], 2.0, True, "2", -1, 300)
_LAYERS: tuple[Any, ...] = (
    ["full_attention"] * 2,
    ["full_attention"],
    ["full_attention"] * 3,
    ["full"] * 2,
    [],
    ["attention"] * 2,
    "full_attention",
)

#: Key -> values, for llama.
_ODD: Mapping[str, tuple[Any, ...]] = {
    "num_key_value_heads": (1, 3, 8, 0, None, "2"),
    "num_attention_heads": (5, 0),
    "head_dim": (15,),
    "rms_norm_eps": ("1e-05", 1),
    "hidden_size": (64.0, "64"),
    "num_hidden_layers": (2.0, True),
    "vocab_size": ("256",),
    "max_position_embeddings": (2048.0, "2048", None),
    "tie_word_embeddings": ("false", 0, None),
    "attention_dropout": (None, "0.0", 0),
    "attention_bias": ("false", None),
    "use_cache": ("true",),
    "initializer_range": ("0.02", 1),
    "rope_theta": (10000, "10000"),
    "intermediate_size": ([128, 128],),
    "_attn_implementation": ("sdpa", "eager", "flash_attention_5"),
    "quantization_config": (None, "awq"),
    "id2label": (["a", "b"], {"x": "a"}),
    "dtype": ("bfloat16",),
    "architectures": ("LlamaForCausalLM", None),
    "temperature": (0.0, "x"),
}


def _cases() -> Iterator[dict[str, Any]]:
    yield from (dict(base) for base in (LLAMA, QWEN2, QWEN3, PHI3, BERT, GPT2, DEEPSEEK))
    for rope in _ROPES:
        yield {**LLAMA, "rope_scaling": rope}
    for scaled in (QWEN2, PHI3, DEEPSEEK):
        for rope in ({"type": "su", **_LONG}, {"rope_type": "yarn", **_ORIGINAL}, _ROPES[9]):
            yield {**scaled, "rope_scaling": rope}
    for act in _ACTIVATIONS:
        yield {**LLAMA, "hidden_act": act}
        yield {**BERT, "hidden_act": act}
        yield {**GPT2, "activation_function": act}
    for dtype in _DTYPES:
        yield {**LLAMA, "torch_dtype": dtype}
    for token in _TOKENS:
        for key in ("eos_token_id", "bos_token_id", "pad_token_id"):
            yield {**LLAMA, key: token}
    for listed in (LLAMA, QWEN2):
        for layers in _LAYERS:
            yield {**listed, "layer_types": layers}
    for key, values in _ODD.items():
        for value in values:
            yield {**LLAMA, key: value}
    for grouped in (QWEN2, QWEN3, DEEPSEEK):
        yield {**grouped, "num_key_value_heads": 3}


CASES: tuple[dict[str, Any], ...] = tuple(_cases())
