"""Granite 3 MoE (IBM 2024). Source: transformers/models/granitemoe/modeling_granitemoe.py.

Granite with experts. Files hold all experts of a layer in two 3-D tensors, ``input_linear`` (gate
and up) and ``output_linear`` (down), whatever the names in memory.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm, Weight


def hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def norm(c: ModelConfig, name: str) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(hidden(c), eps=eps, class_name=f"{name}RMSNorm")


def attention(c: ModelConfig, name: str) -> Module:
    bias = c.flag("attention_bias", default=False)
    heads = grouped_heads(c, hidden(c), heads=32)
    return grouped_attention(f"{name}Attention", hidden(c), heads, bias=bias)


def moe(c: ModelConfig, name: str) -> Module:
    h, inner = hidden(c), c.dim("intermediate_size", default=11008)
    count = c.count("num_local_experts", "num_experts", default=8, minimum=1)
    active = (min(int(c.count("num_experts_per_tok", default=2)), int(count)), int(count))
    router = Module(
        f"{name}TopKRouter", layer=Linear(h, count, bias=False), component=Component.ROUTER
    )

    def fused(outputs: int, inputs: int) -> Module:
        weight = Weight(count, outputs, inputs, active=active, kind="expert")
        return Module(f"{name}ParallelExperts", weight=weight)

    return Module(
        f"{name}MoE",
        router=router,
        input_linear=fused(2 * inner, h),
        output_linear=fused(h, inner),
        activation=activation(c.text("hidden_act", default="silu")),
        component=Component.MLP,
    )


def model(c: ModelConfig) -> Module:
    name = "GraniteMoe"
    layer = Module(
        "GraniteMoeDecoderLayer",
        self_attn=attention(c, name),
        input_layernorm=norm(c, name),
        post_attention_layernorm=norm(c, name),
        block_sparse_moe=moe(c, name),
    )
    return Module(
        "GraniteMoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer),
        norm=norm(c, name),
        rotary_emb=Activation("GraniteMoeRotaryEmbedding"),
    )


register(
    "granitemoe",
    decoder_classes("GraniteMoe", model, hidden=hidden, heads=()),
    base="GraniteMoeModel",
    base_prefix="model",
    category="text decoder",
)
