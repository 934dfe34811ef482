"""mT5 (Xue et al. 2020): T5 v1.1 for a hundred languages. Source: transformers/models/mt5."""

from ..trees import config_defaults
from .t5 import CLASSES, register_kin

#: Sizes of the config class, under T5's keys.
DEFAULTS = config_defaults("mt5")

register_kin("mt5", "MT5", DEFAULTS, CLASSES)
