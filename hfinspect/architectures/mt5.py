"""mT5 (Xue et al. 2020): T5 v1.1 for a hundred languages. Source: transformers/models/mt5."""

from .t5 import CLASSES, register_kin

#: Sizes of the config class, under T5's keys.
DEFAULTS = {
    "vocab_size": 250112,
    "d_ff": 1024,
    "num_layers": 8,
    "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
}

register_kin("mt5", "MT5", DEFAULTS, CLASSES)
