"""Ministral (Mistral AI 2024; transformers/models/ministral): Mistral; full layers alternate."""

from ..layers.windows import windows
from .llama import LLAMA

LLAMA.like(
    "Ministral", attention_bias=None, mlp_bias=None, windows=lambda c: windows(c, 4096)
).register("ministral")
