"""Blenderbot 90M (Roller et al. 2020). Source: transformers/models/blenderbot_small."""

from ..layers.seq2seq import GENERATION
from .bart import BART

BART.like(
    "BlenderbotSmall", words="", offset=0, width=512, layers=(8, 8), inner=(2048, 2048), length=512
).register("blenderbot-small", *GENERATION, "ForCausalLM")
