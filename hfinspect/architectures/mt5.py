"""mT5 (Xue et al. 2020). Source of shapes: transformers/models/mt5/modeling_mt5.py.

T5 v1.1 with a vocabulary of a hundred languages.
"""

from ..layers.composing import renamed_classes, with_defaults
from ..trees.catalog import register
from .t5 import CLASSES as T5_CLASSES
from .t5 import SYNONYMS

#: Sizes of the config class, under T5's keys.
DEFAULTS = {
    "vocab_size": 250112, "d_ff": 1024, "num_layers": 8, "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
}  # fmt: skip

register(
    "mt5",
    with_defaults(DEFAULTS, renamed_classes(T5_CLASSES, "T5", "MT5"), synonyms=SYNONYMS),
    category="encoder-decoder",
)
