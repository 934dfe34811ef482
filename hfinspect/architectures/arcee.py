"""Arcee AFM (Arcee AI 2025). Source of shapes: transformers/models/arcee/modeling_arcee.py.

Llama with a two-matrix MLP and squared ReLU.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-5), class_name="ArceeRMSNorm")


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=18432)
    bias = c.flag("mlp_bias", default=False)
    return Module(
        "ArceeDecoderLayer",
        self_attn=grouped_attention(
            "ArceeAttention",
            h,
            grouped_heads(c, h, heads=32),
            bias=c.flag("attention_bias", default=False),
        ),
        mlp=Module(
            "ArceeMLP",
            up_proj=Linear(h, inner, bias=bias, kind="up"),
            down_proj=Linear(inner, h, bias=bias, kind="down"),
            act_fn=activation(c.text("hidden_act", default="relu2")),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "ArceeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("ArceeRotaryEmbedding"),
    )


register(
    "arcee",
    decoder_classes("Arcee", model, hidden=_hidden, qa_prefix="transformer"),
    base="ArceeModel",
    base_prefix="model",
    category="text decoder",
)
