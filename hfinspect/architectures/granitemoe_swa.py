"""Granite MoE with sliding windows (IBM 2026).

Source of shapes: transformers/models/granitemoe_swa/modeling_granitemoe_swa.py.
Granite MoE with a shared MLP where ``shared_intermediate_size`` is not 0, and one learned attention
sink per head.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.experts import router
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, Weight
from .granitemoe import attention, hidden, norm


def moe(c: ModelConfig) -> Module:
    """Fused in memory and in the file: gate and up in one tensor, down in the other."""
    h, inner = hidden(c), c.dim("intermediate_size", default=11008)
    count = c.count("num_local_experts", "num_experts", default=8, minimum=1)
    active = (min(int(c.count("num_experts_per_tok", default=2)), int(count)), int(count))
    return Module(
        "GraniteMoeSWAMoE",
        router=router("GraniteMoeSWATopKRouter", h, count),
        experts=Module(
            "GraniteMoeSWAExperts",
            gate_up_proj=Weight(count, 2 * inner, h, active=active),
            down_proj=Weight(count, h, inner, active=active),
            act_fn=activation(c.text("hidden_act", default="silu")),
            kind="expert",
        ),
        component=Component.MLP,
    )


def shared_mlp(c: ModelConfig, inner: Dim) -> Module:
    return Module(
        "GraniteMoeSWAMLP",
        activation=activation(c.text("hidden_act", default="silu")),
        input_linear=Linear(hidden(c), inner * 2, bias=False),
        output_linear=Linear(inner, hidden(c), bias=False),
        component=Component.MLP,
        kind="shared_expert",
    )


def model(c: ModelConfig) -> Module:
    name = "GraniteMoeSWA"
    inner = c.dim("shared_intermediate_size", default=0, minimum=0)
    attending = attention(c, name)
    heads = c.dim("num_attention_heads", default=32)
    attending.children["sinks"] = Weight(heads, kind="sink")
    layer = Module(
        "GraniteMoeSWADecoderLayer",
        self_attn=attending,
        input_layernorm=norm(c, name),
        post_attention_layernorm=norm(c, name),
        block_sparse_moe=moe(c),
        shared_mlp=shared_mlp(c, inner) if inner else None,
    )
    return Module(
        "GraniteMoeSWAModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32),
            layer,
            windows=windows(c, 128, every(4, first=0)),
        ),
        norm=norm(c, name),
    )


register(
    "granitemoe_swa",
    decoder_classes("GraniteMoeSWA", model, hidden=hidden, heads=()),
    base="GraniteMoeSWAModel",
    base_prefix="model",
    category="text decoder",
)
