"""FlauBERT (Le et al. 2019). Source of shapes: transformers/models/flaubert.

XLM under other class names; norms before or after (``pre_norm``) are the same tensors.
"""

from ..layers.composing import renamed_classes
from ..trees.catalog import register
from . import xlm

register(
    "flaubert",
    renamed_classes(xlm.CLASSES, "XLM", "Flaubert"),
    base="FlaubertModel",
    base_prefix="transformer",
    category="encoder",
)
