"""Blenderbot 90M (Roller et al. 2020). Source: transformers/models/blenderbot_small."""

from __future__ import annotations

from ..layers import seq2seq
from ..trees.catalog import register

STYLE = seq2seq.Style(
    "BlenderbotSmall",
    positions="BlenderbotSmallLearnedPositionalEmbedding",
    offset=0,
    embedding_norm=True,
    width=512,
    layers=(8, 8),
    inner=(2048, 2048),
    length=512,
)

register(
    "blenderbot-small",
    seq2seq.classes(STYLE, *seq2seq.GENERATION, "ForCausalLM"),
    base="BlenderbotSmallModel",
    base_prefix="model",
    category="encoder-decoder",
)
