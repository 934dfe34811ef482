"""Granite 3 (IBM 2024). Source of shapes: transformers/models/granite/modeling_granite.py.

A Llama-like decoder; its multipliers of embedding, attention, residuals and logits are numbers of
the config, not tensors.
"""

from .llama import LLAMA

LLAMA.like("Granite", endings=()).register("granite")
