"""Doge (SmallDoge 2025). Source of shapes: transformers/models/doge/modeling_doge.py.

Attention with a learned mask from the values (``A``, ``dt_proj``), learned residual scales, and,
where ``is_moe``, a dense MLP plus very many experts of one row each, found by product keys.
"""

from __future__ import annotations

import math

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1024)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-6), class_name="DogeRMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=8)
    bias = c.flag("attention_bias", default=False)
    block = grouped_attention(
        "DogeAttention",
        h,
        heads,
        bias=bias,
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )
    block.children["A"] = Weight(heads.kv)
    block.children["dt_proj"] = Linear(heads.kv * heads.dim, heads.kv, bias=bias)
    return block


def mlp(c: ModelConfig, class_name: str) -> Module:
    inner = c.dim("intermediate_size", default=2048)
    bias = c.flag("mlp_bias", default=False)
    act = c.text("hidden_act", default="silu")
    return gated_mlp(class_name, _hidden(c), inner, bias=bias, act=act)


def moe(c: ModelConfig) -> Module:
    """Cross-domain mixture: n experts of two rows, chosen by the best of √n keys, twice."""
    h, count = _hidden(c), c.dim("num_experts", default=16384)
    keys = named(math.isqrt(count), "num_keys", "square root of num_experts, rounded down")
    active = (min(int(c.dim("num_experts_per_tok", default=64)), int(count)), int(count))

    def rows() -> Module:
        table = Embedding(count, h, component=None, kind="expert")
        table.active = active
        return table

    block = mlp(c, "DogeCDMoE")
    block.children["router_gate"] = Linear(h, keys * 2, bias=False, component=Component.ROUTER)
    block.children["down_embed"] = rows()
    block.children["up_embed"] = rows()
    return block


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "DogeDecoderLayer",
        input_layernorm=_norm(c, h),
        self_attn=attention(c),
        input_residual=Weight(h, kind="scale"),
        post_attention_layernorm=_norm(c, h),
        mlp=moe(c) if c.flag("is_moe", default=False) else mlp(c, "DogeMLP"),
        post_attention_residual=Weight(h, kind="scale"),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "DogeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32768), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("DogeRotaryEmbedding"),
    )


register(
    "doge",
    decoder_classes("Doge", model, hidden=_hidden, heads=("ForSequenceClassification",)),
    base="DogeModel",
    base_prefix="model",
    category="text decoder",
)
