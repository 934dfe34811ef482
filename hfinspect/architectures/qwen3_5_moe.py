"""Qwen3.5 with experts (Qwen team 2026; transformers/models/qwen3_5_moe)."""

from functools import partial

from ..trees.catalog import register_part
from .qwen3_5 import DENSE, register_both, vision_model
from .qwen3_next import routed

_SPARSE = DENSE.like(
    "Qwen3_5Moe", hidden_size=2048, num_hidden_layers=40, num_key_value_heads=2, moe=routed(256, 8)
)
register_both("qwen3_5_moe", _SPARSE, {}, {})
_tower = partial(vision_model, "Qwen3_5Moe")
register_part("qwen3_5_moe_vision", "Qwen3_5MoeVisionModel", _tower, "vision")
