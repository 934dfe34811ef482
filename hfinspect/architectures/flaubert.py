"""FlauBERT (Le et al. 2019). Source of shapes: transformers/models/flaubert/modeling_flaubert.py.

XLM (a trace) under other class names; norms before or after (``pre_norm``) are the same tensors.
"""

from ..layers.composing import renamed
from ..trees.catalog import Builder, builder, register

_ENDINGS = (
    "WithLMHeadModel", "Model", "ForSequenceClassification", "ForQuestionAnsweringSimple",
    "ForQuestionAnswering", "ForTokenClassification", "ForMultipleChoice",
)  # fmt: skip


def _as_xlm(ending: str) -> Builder:
    return lambda c: renamed(builder(f"XLM{ending}")(c), "XLM", "Flaubert")


register(
    "flaubert",
    {f"Flaubert{ending}": _as_xlm(ending) for ending in _ENDINGS},
    base="FlaubertModel",
    base_prefix="transformer",
    category="encoder",
)
