"""mBART (Liu et al. 2020). Source of shapes: transformers/models/mbart/modeling_mbart.py.

BART with a norm after the last layer of each side.
"""

from __future__ import annotations

from ..layers import seq2seq
from ..trees.catalog import register

STYLE = seq2seq.Style(
    "MBart",
    words="MBartScaledWordEmbedding",
    positions="MBartLearnedPositionalEmbedding",
    embedding_norm=True,
    final_norm=True,
)

register(
    "mbart",
    seq2seq.classes(STYLE, *seq2seq.ALL),
    base="MBartModel",
    base_prefix="model",
    category="encoder-decoder",
)
