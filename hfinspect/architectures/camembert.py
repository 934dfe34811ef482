"""CamemBERT (Martin et al. 2019). Source: transformers/models/camembert. RoBERTa for French."""

from __future__ import annotations

from ..layers.composing import renamed_classes, with_defaults
from ..layers.encoders import BASE
from ..trees.catalog import register
from .roberta import CLASSES

register(
    "camembert",
    with_defaults(BASE, renamed_classes(CLASSES, "Roberta", "Camembert")),
    base="CamembertModel",
    base_prefix="roberta",
    category="encoder",
)
