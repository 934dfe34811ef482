"""Dream 7B (Ye et al. 2025), a diffusion language model. No class in transformers. Source of
shapes: modeling_dream.py in Dream-org/Dream-v0-Base-7B.

Qwen2's layers, from whose weights it was trained. DreamModel is the class with the head.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Module
from . import qwen2


def model(c: ModelConfig) -> Module:
    base = renamed(qwen2.model(c), "Qwen2", "Dream")
    base.class_name = "DreamBaseModel"
    return base


register(
    "Dream",
    {"DreamModel": causal_lm("DreamModel", model), "DreamBaseModel": model},
    base="DreamBaseModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_dream.py of Dream-org/Dream-v0-Base-7B",
)
