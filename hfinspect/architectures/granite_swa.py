"""Granite with sliding windows (IBM 2026).

Source of shapes: transformers/models/granite_swa/modeling_granite_swa.py.
Granite with one learned attention sink per head.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(
        width, eps=c.number("rms_norm_eps", default=1e-5), class_name="GraniteSWARMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=8192)
    heads = grouped_heads(c, h, heads=20, kv=4)
    attention = grouped_attention(
        "GraniteSWAAttention", h, heads, bias=c.flag("attention_bias", default=False)
    )
    attention.children["sinks"] = Weight(heads.query, kind="sink")
    act, bias = c.text("hidden_act", default="silu"), c.flag("mlp_bias", default=False)
    return Module(
        "GraniteSWADecoderLayer",
        self_attn=attention,
        mlp=gated_mlp("GraniteSWAMLP", h, inner, bias=bias, act=act),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "GraniteSWAModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=100352), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=24),
            layer(c),
            windows=windows(c, 128, every(4, first=0)),
        ),
        norm=_norm(c, _hidden(c)),
    )


register(
    "granite_swa",
    decoder_classes("GraniteSWA", model, hidden=_hidden, tied_default=True, heads=()),
    base="GraniteSWAModel",
    base_prefix="model",
    category="text decoder",
)
