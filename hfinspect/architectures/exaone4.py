"""EXAONE 4 (LG AI Research 2025; transformers/models/exaone4). Norms follow attention and MLP;
queries and keys are normed per head. Three of four layers use a sliding window."""

from ..layers.decoders import post_norm
from ..layers.windows import every, windows
from .llama import LLAMA

LLAMA.like(
    "Exaone4",
    attention_bias=None,
    mlp_bias=None,
    qk_norm=True,
    layer=post_norm,
    windows=lambda c: windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=4)))),
).register("exaone4")
