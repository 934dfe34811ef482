"""Granite with sliding windows (IBM 2026; transformers/models/granite_swa)."""

from ..layers.decoders import sinks
from ..layers.windows import every, windows
from .llama import LLAMA

LLAMA.like(
    "GraniteSWA",
    windows=lambda c: windows(c, 128, every(4, first=0)),
    rotary=False,
    tasks=(),
    attention=sinks,
).register("granite_swa")
