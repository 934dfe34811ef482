"""OLMo (Groeneveld et al. 2024). Source of shapes: transformers/models/olmo/modeling_olmo.py.

A Llama-like decoder whose norms have neither weight nor bias.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    bias = c.flag("attention_bias", default=False)
    inner = c.dim("intermediate_size", default=11008)
    return Module(
        "OlmoDecoderLayer",
        self_attn=grouped_attention("OlmoAttention", h, grouped_heads(c, h, heads=32), bias=bias),
        mlp=gated_mlp("OlmoMLP", h, inner, act=c.text("hidden_act", default="silu")),
        input_layernorm=Activation("OlmoLayerNorm"),
        post_attention_layernorm=Activation("OlmoLayerNorm"),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "OlmoModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=50304), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=Activation("OlmoLayerNorm"),
        rotary_emb=Activation("OlmoRotaryEmbedding"),
    )


register(
    "olmo",
    decoder_classes("Olmo", model, hidden=_hidden, heads=("ForSequenceClassification",)),
    base="OlmoModel",
    base_prefix="model",
    category="text decoder",
)
