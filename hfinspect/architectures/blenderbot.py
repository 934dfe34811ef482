"""Blenderbot (Roller et al. 2020). Source: transformers/models/blenderbot/modeling_blenderbot.py.

A shallow encoder and a deep decoder, a norm after the last layer of each.
"""

from ..layers.seq2seq import GENERATION
from .bart import BART

BART.like(
    "Blenderbot",
    offset=0,
    embedding_norm=False,
    final_norm=True,
    vocab=8008,
    width=2560,
    layers=(2, 24),
    inner=(10240, 10240),
    heads=(32, 32),
    length=128,
    labels=2,
).register("blenderbot", *GENERATION, "ForCausalLM")
