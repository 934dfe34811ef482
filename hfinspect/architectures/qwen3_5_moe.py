"""Qwen3.5 with experts (Qwen team 2026). Source: transformers/models/qwen3_5_moe.

Qwen3.5's towers; every layer has routed experts and a gated shared one.
"""

from .qwen3_5 import DENSE, register_both
from .qwen3_next import routed

_SPARSE = DENSE.like(
    "Qwen3_5Moe", hidden_size=2048, num_hidden_layers=40, num_key_value_heads=2, moe=routed(256, 8)
)
register_both("qwen3_5_moe", _SPARSE, {}, {})
