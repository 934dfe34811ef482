"""mBART (Liu et al. 2020). Source of shapes: transformers/models/mbart/modeling_mbart.py.

BART with a norm after the last layer of each side.
"""

from ..layers.seq2seq import ALL
from .bart import BART

BART.like("MBart", final_norm=True, labels=2).register("mbart", *ALL)
