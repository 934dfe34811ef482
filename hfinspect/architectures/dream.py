"""Dream 7B (Ye et al. 2025), a diffusion language model. No class in transformers. Source of
shapes: modeling_dream.py in Dream-org/Dream-v0-Base-7B. Qwen2's layers, from whose weights it was
trained. DreamModel is the class with the head."""

from ..layers.heads import causal_lm
from ..trees import ModelConfig, Module, register
from .qwen2 import QWEN2

_DREAM = QWEN2.like("Dream")


def model(c: ModelConfig) -> Module:
    return _DREAM.model(c).called("DreamBaseModel")


register(
    "Dream",
    {"DreamModel": causal_lm("DreamModel", model), "DreamBaseModel": model},
    base="DreamBaseModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_dream.py of Dream-org/Dream-v0-Base-7B",
)
