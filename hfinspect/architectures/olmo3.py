"""OLMo 3 (OLMo Team 2025). Source of shapes: transformers/models/olmo3/modeling_olmo3.py.

OLMo 2's layers; three of four use a sliding window, which changes no tensor.
"""

from __future__ import annotations

from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from . import olmo2

register(
    "olmo3",
    decoder_classes(
        "Olmo3",
        olmo2.base("Olmo3", lambda c: windows(c, 4096, every(4))),
        hidden=olmo2.hidden,
        heads=("ForSequenceClassification",),
    ),
    base="Olmo3Model",
    base_prefix="model",
    category="text decoder",
)
