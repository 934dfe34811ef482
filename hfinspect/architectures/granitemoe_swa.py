"""Granite MoE with windows and sinks (IBM 2026; transformers/models/granitemoe_swa). Files too hold
the experts fused, unlike Granite MoE's."""

from ..layers import mixtures as m
from ..layers.decoders import sinks
from ..layers.windows import every, windows
from .granitemoe import EXPERTS, USED
from .granitemoeshared import GRANITE_MOE_SHARED

_PARTS = {"router": m.scores(), "experts": m.stacked(act=True)}
GRANITE_MOE_SHARED.like(
    "GraniteMoeSWA",
    attention=sinks,
    rotary=False,
    moe=m.sparse("MoE", _PARTS, count=EXPERTS, used=USED),
    windows=lambda c: windows(c, 128, every(4, first=0)),
).register("granitemoe_swa")
