"""Aria's text model (Rhymes AI 2024). Source of shapes: transformers/models/aria/modeling_aria.py.

A Llama-like decoder with experts in every layer. Files hold all experts of a layer in two 3-D
tensors, input before output.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import router
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm, Weight


def hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-6), class_name="AriaTextRMSNorm")


def moe(c: ModelConfig) -> Module:
    h, inner = hidden(c), c.dim("intermediate_size", default=4096)
    count = c.count("moe_num_experts", default=8, minimum=1)
    active = (min(int(c.count("moe_topk", default=2)), int(count)), int(count))
    shared = inner * c.count("moe_num_shared_experts", default=2)

    def fused(inputs: int, outputs: int) -> Module:
        weight = Weight(count, inputs, outputs, active=active, kind="expert")
        return Module("AriaGroupedExpertsGemm", weight=weight)

    return Module(
        "AriaTextMoELayer",
        router=router("AriaTextTopKRouter", h, count),
        experts=Module("AriaExperts", fc1=fused(h, 2 * inner), fc2=fused(inner, h)),
        shared_experts=gated_mlp(
            "AriaSharedExpertsMLP",
            h,
            shared,
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
            kind="shared_expert",
        ),
        component=Component.MLP,
    )


def layer(c: ModelConfig) -> Module:
    h = hidden(c)
    heads = grouped_heads(c, h, heads=32)
    bias = c.flag("attention_bias", default=False)
    return Module(
        "AriaTextDecoderLayer",
        self_attn=grouped_attention("AriaTextAttention", h, heads, bias=bias),
        mlp=moe(c),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "AriaTextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c, hidden(c)),
        rotary_emb=Activation("AriaTextRotaryEmbedding"),
    )


register(
    "aria_text",
    decoder_classes("AriaText", model, hidden=hidden, heads=()),
    base="AriaTextModel",
    base_prefix="model",
    category="text decoder",
)
