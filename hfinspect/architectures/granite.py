"""Granite 3 (IBM 2024; transformers/models/granite): Llama, with multipliers that are numbers, not
tensors."""

from .llama import LLAMA

LLAMA.like("Granite", tasks=()).register("granite")
