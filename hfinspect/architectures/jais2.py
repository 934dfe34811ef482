"""Jais 2 (MBZUAI, Inception 2025). Source of shapes: transformers/models/jais2.

A decoder with biases everywhere, LayerNorms and a two-matrix MLP with squared ReLU.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=3328)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-5))


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=26624)
    bias = c.flag("mlp_bias", default=True)
    return Module(
        "Jais2DecoderLayer",
        self_attn=grouped_attention(
            "Jais2Attention",
            h,
            grouped_heads(c, h, heads=26),
            bias=c.flag("attention_bias", default=True),
        ),
        mlp=Module(
            "Jais2MLP",
            up_proj=Linear(h, inner, bias=bias, kind="up"),
            down_proj=Linear(inner, h, bias=bias, kind="down"),
            act_fn=activation(c.text("hidden_act", default="relu2")),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Jais2Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=150272), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
    )


register(
    "jais2",
    decoder_classes("Jais2", model, heads=()),
    base="Jais2Model",
    base_prefix="model",
    category="text decoder",
)
