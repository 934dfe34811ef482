"""PLBART (Ahmad et al. 2021). Source of shapes: transformers/models/plbart/modeling_plbart.py.

BART for programs, half as deep.
"""

from __future__ import annotations

from ..layers import seq2seq
from ..trees.catalog import register

STYLE = seq2seq.Style(
    "PLBart",
    words="PLBartScaledWordEmbedding",
    positions="PLBartLearnedPositionalEmbedding",
    embedding_norm=True,
    vocab=50005,
    width=768,
    layers=(6, 6),
    inner=(3072, 3072),
    heads=(12, 12),
)

register(
    "plbart",
    seq2seq.classes(STYLE, *seq2seq.GENERATION, "ForCausalLM", "ForSequenceClassification"),
    base="PLBartModel",
    base_prefix="model",
    category="encoder-decoder",
)
