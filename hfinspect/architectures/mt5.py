"""mT5 (Xue et al. 2020). Source of shapes: transformers/models/mt5/modeling_mt5.py.

T5 v1.1 with a vocabulary of a hundred languages.
"""

from .t5 import CLASSES, register_kin

#: Sizes of the config class, under T5's keys.
DEFAULTS = {
    "vocab_size": 250112, "d_ff": 1024, "num_layers": 8, "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
}  # fmt: skip

register_kin("mt5", "MT5", DEFAULTS, CLASSES)
