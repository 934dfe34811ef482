"""Code World Model (Meta FAIR 2025; transformers/models/cwm): Llama; three of four layers slide."""

from ..layers.windows import every, windows
from .llama import LLAMA

LLAMA.like(
    "Cwm", attention_bias=None, windows=lambda c: windows(c, 8192, every(4, first=0)), tasks=()
).register("cwm")
