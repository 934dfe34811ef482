"""Cohere's Command R7B and A (2024; transformers/models/cohere2): no norms in attention."""

from ..layers.decoders import grouped
from ..layers.windows import every, windows
from .cohere import COHERE

COHERE.like(
    "Cohere2",
    attention=grouped,
    windows=lambda c: windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=4)))),
).register("cohere2")
