"""Mistral (Jiang et al. 2023; transformers/models/mistral): Llama with 8 key heads by default."""

from ..layers.windows import windows
from .llama import LLAMA

MISTRAL = LLAMA.like(
    "Mistral",
    attention_bias=None,
    mlp_bias=None,
    windows=lambda c: windows(c, 4096),
    qa_prefix=None,
).register("mistral")
