"""Dream 7B (Ye et al. 2025), a diffusion language model: Qwen2's layers. DreamModel is the class
with the head. No class in transformers. Source: modeling_dream.py in Dream-org/Dream-v0-Base-7B."""

from functools import partial

from ..layers.heads import causal_lm
from ..trees import register
from .qwen2 import QWEN2

_model = partial(QWEN2.like("Dream").named, "DreamBaseModel")
register(
    "Dream",
    {"DreamModel": causal_lm("DreamModel", _model), "DreamBaseModel": _model},
    base="DreamBaseModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_dream.py of Dream-org/Dream-v0-Base-7B",
)
