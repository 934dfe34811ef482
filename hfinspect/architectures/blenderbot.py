"""Blenderbot (Roller et al. 2020). Source: transformers/models/blenderbot/modeling_blenderbot.py.

A shallow encoder and a deep decoder, a norm after the last layer of each.
"""

from __future__ import annotations

from ..layers import seq2seq
from ..trees.catalog import register

STYLE = seq2seq.Style(
    "Blenderbot",
    words="BlenderbotScaledWordEmbedding",
    positions="BlenderbotLearnedPositionalEmbedding",
    offset=0,
    final_norm=True,
    vocab=8008,
    width=2560,
    layers=(2, 24),
    inner=(10240, 10240),
    heads=(32, 32),
    length=128,
)

register(
    "blenderbot",
    seq2seq.classes(STYLE, *seq2seq.GENERATION, "ForCausalLM"),
    base="BlenderbotModel",
    base_prefix="model",
    category="encoder-decoder",
)
