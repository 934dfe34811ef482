"""XLM-RoBERTa (Conneau et al. 2019). Source: transformers/models/xlm_roberta.

RoBERTa with a vocabulary of a hundred languages.
"""

from __future__ import annotations

from .composing import renamed_classes, with_defaults
from .encoders import BASE
from .registry import register
from .roberta import CLASSES

register(
    "xlm-roberta",
    with_defaults(BASE, renamed_classes(CLASSES, "Roberta", "XLMRoberta")),
    base="XLMRobertaModel",
    base_prefix="roberta",
    category="encoder",
)
