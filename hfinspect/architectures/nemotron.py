"""Nemotron-4 (NVIDIA 2024). Source of shapes: transformers/models/nemotron/modeling_nemotron.py.

Layer norms with bias (and 1 added to the weight), a plain two-matrix MLP with squared ReLU.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Linear, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=6144)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("norm_eps", default=1e-5)
    return LayerNorm(_hidden(c), eps=eps, class_name="NemotronLayerNorm1P")


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=24576)
    heads = grouped_heads(c, h, heads=48)
    bias = c.flag("mlp_bias", default=False)
    return Module(
        "NemotronDecoderLayer",
        self_attn=grouped_attention(
            "NemotronAttention", h, heads, bias=c.flag("attention_bias", default=False)
        ),
        mlp=Module(
            "NemotronMLP",
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
        "NemotronModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=256000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
        rotary_emb=Activation("NemotronRotaryEmbedding"),
    )


register(
    "nemotron",
    decoder_classes("Nemotron", model, hidden=_hidden, qa_prefix="transformer"),
    base="NemotronModel",
    base_prefix="model",
    category="text decoder",
)
