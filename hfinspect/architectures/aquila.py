"""Aquila and Aquila2 (BAAI 2023), Skywork-13B (Wei et al. 2023). No classes in transformers. Source
of shapes: modeling_aquila.py in BAAI/AquilaChat2-7B, modeling_skywork.py in
Skywork/Skywork-13B-base. Both are Llama to the letter, under class names of their own."""

from ..layers.decoders import SEQUENCE_HEAD
from .llama import ORIGINAL

_SOURCE = "modeling_aquila.py of BAAI/AquilaChat2-7B, modeling_skywork.py of Skywork-13B-base"
_AQUILA = ORIGINAL.like("Aquila", vocab_size=100008, tasks=SEQUENCE_HEAD)

_AQUILA.register("aquila", source=_SOURCE)
_AQUILA.like(
    "Skywork",
    vocab_size=65519,
    hidden_size=4608,
    intermediate_size=12288,
    num_hidden_layers=52,
    num_attention_heads=36,
).register("skywork", source=_SOURCE)
