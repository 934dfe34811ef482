"""Mellum 2 (JetBrains 2026). Source of shapes: transformers/models/mellum.

Qwen3-MoE's block; ``mlp_layer_types`` says which layers are dense.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads, layer_types
from ..layers.experts import sparse_block
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2304)


def _norm(c: ModelConfig, size: int) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(size, eps=eps, class_name="MellumRMSNorm")


def mlp(c: ModelConfig, kind: str) -> Module:
    h, act = _hidden(c), c.text("hidden_act", default="silu")
    if kind == "dense":
        return gated_mlp("MellumMLP", h, c.dim("intermediate_size", default=7168), act=act)
    return sparse_block(
        "Mellum",
        h,
        c.dim("moe_intermediate_size", default=896),
        count=c.count("num_experts", "num_local_experts", default=64),
        per_token=c.dim("num_experts_per_tok", default=8),
        shared=None,
        act=act,
    )


def layer(c: ModelConfig, kind: str) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=4, head_dim=128)
    return Module(
        "MellumDecoderLayer",
        self_attn=grouped_attention(
            "MellumAttention",
            h,
            heads,
            bias=c.flag("attention_bias", default=False),
            norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
        ),
        mlp=mlp(c, kind),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def mlp_types(c: ModelConfig, layers: int) -> Sequence[str]:
    found = layer_types(c, layers, lambda _: "sparse", key="mlp_layer_types")
    for kind in found:
        if kind not in ("dense", "sparse"):
            raise c.error("mlp_layer_types", kind, "dense or sparse")
    return found


def model(c: ModelConfig) -> Module:
    types = mlp_types(c, int(c.count("num_hidden_layers", default=28)))
    distinct = {kind: layer(c, kind) for kind in dict.fromkeys(types)}
    return Module(
        "MellumModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=98304), _hidden(c)),
        layers=Layers(
            (distinct[kind] for kind in types), windows=windows(c, 1024, lambda _i, _n: True)
        ),
        norm=_norm(c, _hidden(c)),
    )


register(
    "mellum",
    decoder_classes("Mellum", model, heads=()),
    base="MellumModel",
    base_prefix="model",
    category="text decoder",
)
