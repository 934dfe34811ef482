"""Qwen3 (Yang et al. 2025; transformers/models/qwen3)."""

from ..layers.windows import switched_windows
from .llama import LLAMA

LLAMA.like(
    "Qwen3",
    vocab_size=151936,
    intermediate_size=22016,
    num_key_value_heads=32,
    head_dim=128,
    mlp_bias=None,
    qk_norm=True,
    windows=lambda c: switched_windows(c, 4096, 28),
).register("qwen3")
