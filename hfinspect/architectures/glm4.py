"""GLM-4-0414 (GLM Team 2025). Source of shapes: transformers/models/glm4/modeling_glm4.py.

GLM with a norm after attention and after the MLP as well.
"""

from __future__ import annotations

from ..layers.heads import decoder_classes
from ..trees.catalog import register
from . import glm

_NORMS = (
    "input_layernorm",
    "post_attention_layernorm",
    "post_self_attn_layernorm",
    "post_mlp_layernorm",
)

register(
    "glm4",
    decoder_classes(
        "Glm4",
        glm.base("Glm4", _NORMS),
        hidden=glm.hidden,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="Glm4Model",
    base_prefix="model",
    category="text decoder",
)
