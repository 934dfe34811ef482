"""Helium (Kyutai 2025). Source of shapes: transformers/models/helium/modeling_helium.py.

Llama's block; the output projection is square and without bias whatever the heads are.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-8)
    return RMSNorm(_hidden(c), eps=eps, class_name="HeliumRMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    attention = grouped_attention(
        "HeliumAttention",
        h,
        grouped_heads(c, h, heads=20, kv=20, head_dim=128),
        bias=c.flag("attention_bias", default=False),
    )
    attention.children["o_proj"] = Linear(h, h, bias=False, kind="output")
    return Module(
        "HeliumDecoderLayer",
        self_attn=attention,
        mlp=gated_mlp(
            "HeliumMLP",
            h,
            c.dim("intermediate_size", default=7040),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "HeliumModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=48000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=24), layer(c)),
        norm=_norm(c),
    )


register(
    "helium",
    decoder_classes(
        "Helium",
        model,
        hidden=_hidden,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="HeliumModel",
    base_prefix="model",
    category="text decoder",
)
