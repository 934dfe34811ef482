"""Qwen2 and Qwen1.5 (Yang et al. 2024; transformers/models/qwen2): Llama's block with biases on q,
k and v alone."""

from ..layers.decoders import grouped
from ..layers.windows import switched_windows
from .llama import LLAMA

QWEN2 = LLAMA.like(
    "Qwen2",
    # Whatever the config says.
    attention=lambda d, c: grouped(d, c.with_values(attention_bias=True)),
    out_bias=False,
    mlp_bias=None,
    windows=lambda c: switched_windows(c, 4096, 28),
).register("qwen2")
