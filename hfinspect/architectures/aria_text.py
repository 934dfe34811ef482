"""Aria's text model (Rhymes AI 2024). Source of shapes: transformers/models/aria/modeling_aria.py.

A Llama-like decoder with experts in every layer. Files hold all experts of a layer in two 3-D
tensors, input before output.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp
from ..layers.decoders import Decoder
from ..layers.experts import router
from ..trees.modules import Module, Weight
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), d.inner(c)
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
            act=d.act(c),
            kind="shared_expert",
        ),
        component=Component.MLP,
    )


ARIA = LLAMA.like(
    "AriaText",
    intermediate_size=4096,
    mlp_bias=None,
    endings=(),
    moe=_moe,
).register("aria_text")
