"""FlauBERT (Le et al. 2019). Source of shapes: transformers/models/flaubert.

XLM under other class names; norms before or after (``pre_norm``) are the same tensors.
"""

from __future__ import annotations

from . import xlm
from .composing import renamed_classes
from .registry import register

register(
    "flaubert",
    renamed_classes(xlm.CLASSES, "XLM", "Flaubert"),
    base="FlaubertModel",
    base_prefix="transformer",
    category="encoder",
)
