"""Blenderbot (Roller et al. 2020): BART with a shallow encoder and a deep decoder, a norm after the
last layer of each (transformers/models/blenderbot)."""

from ..layers.seq2seq import GENERATION
from .bart import BART

_SIZES = {"width": 2560, "layers": (2, 24), "inner": (10240, 10240), "heads": (32, 32)}
BART.like(
    "Blenderbot", offset=0, embedding_norm=False, final_norm=True, vocab=8008, length=128, **_SIZES
).register("blenderbot", *GENERATION, "ForCausalLM")
