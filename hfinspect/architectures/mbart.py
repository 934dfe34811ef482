"""mBART (Liu et al. 2020): BART with a norm after the last layer of each side
(transformers/models/mbart)."""

from ..layers.seq2seq import ALL
from .bart import BART

BART.like("MBart", final_norm=True, labels=2).register("mbart", *ALL)
