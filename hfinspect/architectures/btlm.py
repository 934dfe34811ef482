"""BTLM-3B-8K (Dey et al. 2023). No class in transformers. Source of shapes: modeling_btlm.py in
cerebras/btlm-3b-8k-base. Jais's tensors, whose code grew from it, under class names of its own."""

from .jais import JAIS

_BTLM = JAIS.like("BTLM")
_BTLM.register(
    "btlm",
    _BTLM.classes(causal="LMHeadModel", heads=()),
    source="modeling_btlm.py of cerebras/btlm-3b-8k-base",
)
