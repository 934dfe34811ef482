"""Granite 3 (IBM 2024). Source of shapes: transformers/models/granite/modeling_granite.py.

A Llama-like decoder; its multipliers of embedding, attention, residuals and logits are numbers of
the config, not tensors.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="GraniteRMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    bias = c.flag("attention_bias", default=False)
    return Module(
        "GraniteDecoderLayer",
        self_attn=grouped_attention(
            "GraniteAttention", h, grouped_heads(c, h, heads=32), bias=bias
        ),
        mlp=gated_mlp(
            "GraniteMLP",
            h,
            c.dim("intermediate_size", default=11008),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "GraniteModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
        rotary_emb=Activation("GraniteRotaryEmbedding"),
    )


register(
    "granite",
    decoder_classes("Granite", model, hidden=_hidden, heads=()),
    base="GraniteModel",
    base_prefix="model",
    category="text decoder",
)
