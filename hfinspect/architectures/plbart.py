"""PLBART (Ahmad et al. 2021): BART for programs. Source: transformers/models/plbart."""

from ..layers.seq2seq import GENERATION
from .bart import BART

BART.like(
    "PLBart", vocab=50005, width=768, layers=(6, 6), inner=(3072, 3072), heads=(12, 12), labels=2
).register("plbart", *GENERATION, "ForCausalLM", "ForSequenceClassification")
