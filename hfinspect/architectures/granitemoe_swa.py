"""Granite MoE with sliding windows (IBM 2026).

Source of shapes: transformers/models/granitemoe_swa/modeling_granitemoe_swa.py.
Granite MoE with a shared MLP where ``shared_intermediate_size`` is not 0, and one learned attention
sink per head.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.decoders import Decoder, sinks
from ..layers.experts import router
from ..layers.windows import every, windows
from ..trees.modules import Module, Weight
from .granitemoe import GRANITE_MOE
from .granitemoeshared import shared_layer


def _moe(d: Decoder, c: ModelConfig) -> Module:
    """Fused in memory and in the file: gate and up in one tensor, down in the other."""
    h, inner = d.width(c), d.inner(c)
    count = c.count("num_local_experts", "num_experts", default=8, minimum=1)
    active = (min(int(c.count("num_experts_per_tok", default=2)), int(count)), int(count))
    return Module(
        "GraniteMoeSWAMoE",
        router=router("GraniteMoeSWATopKRouter", h, count),
        experts=Module(
            "GraniteMoeSWAExperts",
            gate_up_proj=Weight(count, 2 * inner, h, active=active),
            down_proj=Weight(count, h, inner, active=active),
            act_fn=activation(d.act(c)),
            kind="expert",
        ),
        component=Component.MLP,
    )


GRANITE_MOE.like(
    "GraniteMoeSWA", moe=_moe, layer=shared_layer, attention=sinks,
    windows=lambda c: windows(c, 128, every(4, first=0)), rotary=False,
).register("granitemoe_swa")  # fmt: skip
