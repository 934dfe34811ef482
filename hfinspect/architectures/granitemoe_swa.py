"""Granite MoE with windows (IBM 2026). Source of shapes: transformers/models/granitemoe_swa.

Granite MoE with a shared MLP where ``shared_intermediate_size`` is not 0, one learned attention
sink per head, and experts that files too hold fused.
"""

from ..layers import mixtures as m
from ..layers.decoders import sinks
from ..layers.windows import every, windows
from .granitemoe import EXPERTS, USED
from .granitemoeshared import GRANITE_MOE_SHARED

GRANITE_MOE_SHARED.like(
    "GraniteMoeSWA", attention=sinks, rotary=False,
    moe=m.sparse(
        "MoE", {"router": m.scores(), "experts": m.stacked(act=True)}, count=EXPERTS, used=USED
    ),
    windows=lambda c: windows(c, 128, every(4, first=0)),
).register("granitemoe_swa")  # fmt: skip
