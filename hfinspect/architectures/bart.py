"""BART (Lewis et al. 2019). Source of shapes: transformers/models/bart/modeling_bart.py.

Post-norm encoder and decoder, learned positions, one table of words for both and the head.
"""

from __future__ import annotations

from ..layers import seq2seq
from ..trees.catalog import register

STYLE = seq2seq.Style(
    "Bart",
    words="BartScaledWordEmbedding",
    positions="BartLearnedPositionalEmbedding",
    embedding_norm=True,
    labels=3,
)

register(
    "bart",
    seq2seq.classes(STYLE, *seq2seq.ALL),
    base="BartModel",
    base_prefix="model",
    category="encoder-decoder",
)
