"""Checkpoints in the names of Mistral's and of Meta's own code, with params.json next to them.

Source: mistral_inference/transformer_layers.py and llama/model.py; what the names become on the Hub
is in convert_mistral_weights_to_hf.py and convert_llama_weights_to_hf.py of transformers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

#: The config next to such files.
PARAMS_FILE: Final = "params.json"
#: The rules of the notes about them.
MISTRAL_NAMES: Final = "mistral-names"
META_NAMES: Final = "meta-names"

#: What another of Meta's files is next to the one that is read.
OTHER_RANK: Final = "another rank of the same run: it holds other parts of the same matrices"

#: Modules outside of layers.
_OUTSIDE: Final = {
    "tok_embeddings": "model.embed_tokens",
    "norm": "model.norm",
    "output": "lm_head",
}
#: Modules of a layer.
_INSIDE: Final = {
    "attention.wq": "self_attn.q_proj",
    "attention.wk": "self_attn.k_proj",
    "attention.wv": "self_attn.v_proj",
    "attention.wo": "self_attn.o_proj",
    "attention_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w2": "mlp.down_proj",
    "feed_forward.w3": "mlp.up_proj",
    "feed_forward.gate": "block_sparse_moe.gate",
    "block_sparse_moe.gate": "block_sparse_moe.gate",
}
_LAYER = re.compile(r"layers\.(\d+|%d)\.(.+)\.([^.]+)")
_EXPERT = re.compile(r"(?:feed_forward|block_sparse_moe)\.(experts\.(?:\d+|%d)\.w[123])")
#: How such names begin, one a line.
STARTS: Final = re.compile(
    r"^(?:tok_embeddings\.weight|layers\.\d+\.attention\.w[qkvo]\.)", re.MULTILINE
)
_RANK = re.compile(r"(?:.*/)?consolidated\.(\d+)\.pth")


def hub_name(name: str) -> str | None:
    """What a tensor is called on the Hub; None for a name that is none of these. A pattern with
    ``%d`` for numbers is taken too."""
    layer = _LAYER.fullmatch(name)
    if layer is None:
        module, _, leaf = name.rpartition(".")
        return f"{_OUTSIDE[module]}.{leaf}" if module in _OUTSIDE else None
    number, module, leaf = layer.groups()
    expert = _EXPERT.fullmatch(module)
    inside = f"block_sparse_moe.{expert[1]}" if expert else _INSIDE.get(module)
    return None if inside is None else f"model.layers.{number}.{inside}.{leaf}"


def is_rank(path: str) -> bool:
    """Whether a file is one of Meta's, of which each rank of a tensor-parallel run has one."""
    return _RANK.fullmatch(path) is not None


def config_of_params(params: Mapping[str, object]) -> dict[str, Any] | None:
    """The config.json that params.json stands for; None where it lacks a size, or describes more
    than a text model.

    Meta's has no width of the MLP: it is two thirds of four times the model's, times
    ``ffn_dim_multiplier``, rounded up to ``multiple_of``.
    """
    sizes = {key: params.get(key) for key in ("dim", "n_layers", "n_heads", "vocab_size")}
    numbers = {key: value for key, value in sizes.items() if type(value) is int and value > 0}
    if len(numbers) < len(sizes) or params.get("vision_encoder"):
        return None
    inner = params.get("hidden_dim") or _inner_of_meta(params, numbers["dim"])
    if type(inner) is not int or inner <= 0:
        return None
    moe = params.get("moe")
    is_moe = isinstance(moe, Mapping)
    is_meta = "multiple_of" in params
    name = "Mixtral" if is_moe else "Llama" if is_meta else "Mistral"
    config = {
        "architectures": [f"{name}ForCausalLM"],
        "model_type": name.lower(),
        "hidden_size": numbers["dim"],
        "num_hidden_layers": numbers["n_layers"],
        "num_attention_heads": numbers["n_heads"],
        "num_key_value_heads": params.get("n_kv_heads", numbers["n_heads"]),
        "intermediate_size": inner,
        "vocab_size": numbers["vocab_size"],
        "tie_word_embeddings": params.get("tied_embeddings") is True,
    }
    if isinstance(moe, Mapping):
        config["num_local_experts"] = moe.get("num_experts")
        config["num_experts_per_tok"] = moe.get("num_experts_per_tok")
    optional = {
        "head_dim": params.get("head_dim"),
        "rms_norm_eps": params.get("norm_eps"),
        "rope_theta": params.get("rope_theta"),
        "max_position_embeddings": params.get("max_position_embeddings"),
    }
    config.update((key, value) for key, value in optional.items() if value is not None)
    if name == "Mistral":
        config["sliding_window"] = params.get("sliding_window")
    return config


def _inner_of_meta(params: Mapping[str, object], width: int) -> int | None:
    multiple = params.get("multiple_of")
    factor = params.get("ffn_dim_multiplier")
    if type(multiple) is not int or multiple <= 0:
        return None
    inner = 8 * width // 3
    if isinstance(factor, (int, float)) and 0 < factor < 1000:
        inner = int(factor * inner)
    return -(-inner // multiple) * multiple
