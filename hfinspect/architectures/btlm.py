"""BTLM-3B-8K (Dey et al. 2023). No class in transformers. Source of shapes: modeling_btlm.py in
cerebras/btlm-3b-8k-base.

Jais's tensors, whose code grew from it, under class names of its own.
"""

from ..layers.composing import renamed_classes
from ..layers.heads import causal_lm
from ..trees.catalog import register
from .jais import model

_CLASSES = {
    "JAISLMHeadModel": causal_lm(
        "JAISLMHeadModel", model, prefix="transformer", embedding="wte", tied_default=True
    ),
    "JAISModel": model,
}

register(
    "btlm",
    renamed_classes(_CLASSES, "JAIS", "BTLM"),
    base="BTLMModel",
    base_prefix="transformer",
    category="text decoder",
    source="modeling_btlm.py of cerebras/btlm-3b-8k-base",
)
