"""Granite MoE with a shared expert (IBM 2025).

Source of shapes: transformers/models/granitemoeshared/modeling_granitemoeshared.py.
Granite MoE, and next to the experts a dense MLP where ``shared_intermediate_size`` is not 0.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module
from .granitemoe import attention, hidden, moe, norm


def shared_mlp(c: ModelConfig, inner: Dim) -> Module:
    return Module(
        "GraniteMoeSharedMLP",
        activation=activation(c.text("hidden_act", default="silu")),
        input_linear=Linear(hidden(c), inner * 2, bias=False),
        output_linear=Linear(inner, hidden(c), bias=False),
        component=Component.MLP,
        kind="shared_expert",
    )


def model(c: ModelConfig) -> Module:
    name = "GraniteMoeShared"
    inner = c.dim("shared_intermediate_size", default=0, minimum=0)
    layer = Module(
        "GraniteMoeSharedDecoderLayer",
        self_attn=attention(c, name),
        input_layernorm=norm(c, name),
        post_attention_layernorm=norm(c, name),
        block_sparse_moe=moe(c, name),
        shared_mlp=shared_mlp(c, inner) if inner else None,
    )
    return Module(
        "GraniteMoeSharedModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer),
        norm=norm(c, name),
        rotary_emb=Activation("GraniteMoeSharedRotaryEmbedding"),
    )


register(
    "granitemoeshared",
    decoder_classes("GraniteMoeShared", model, hidden=hidden, heads=()),
    base="GraniteMoeSharedModel",
    base_prefix="model",
    category="text decoder",
)
