"""Qwen3 (Yang et al. 2025; transformers/models/qwen3)."""

from ..layers.decoders import grouped
from .qwen2 import QWEN2

QWEN2.like("Qwen3", head_dim=128, qk_norm=True, attention=grouped, out_bias=None).register("qwen3")
