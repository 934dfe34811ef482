"""Kimi K2 (Moonshot AI 2025): the DeepSeek-V3 class with other sizes.

Source of shapes: the repo's config.json names DeepseekV3ForCausalLM and its configuration file is
DeepSeek-V3's own with the same defaults; transformers has no model_type of this name.
"""

from __future__ import annotations

from ..trees.catalog import register
from .deepseek_v3 import classes

register(
    "kimi_k2",
    classes,
    base="DeepseekV3Model",
    base_prefix="model",
    category="text decoder",
    source="Hub configuration file (DeepSeek-V3's)",
)
