"""FlauBERT (Le et al. 2019): XLM (a trace) under other class names; norms before or after are the
same tensors (transformers/models/flaubert)."""

from ..layers.composing import renamed, without_static_cache
from ..trees.catalog import Builder, builder, register

_ENDINGS = tuple(
    """WithLMHeadModel Model ForSequenceClassification ForQuestionAnsweringSimple
    ForQuestionAnswering ForTokenClassification ForMultipleChoice""".split()
)


def _as_xlm(ending: str) -> Builder:
    return lambda c: renamed(builder(f"XLM{ending}")(c), "XLM", "Flaubert")


_CLASSES = {f"Flaubert{ending}": _as_xlm(ending) for ending in _ENDINGS}
register(
    "flaubert",
    without_static_cache(_CLASSES),
    base="FlaubertModel",
    base_prefix="transformer",
    category="encoder",
)
