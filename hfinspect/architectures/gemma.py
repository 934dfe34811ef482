"""Gemma (Gemma Team 2024; transformers/models/gemma). A Llama-like decoder with wide heads
(head_dim 256 whatever the width) and a tied, scaled embedding."""

from ..layers.blocks import gated_mlp
from ..layers.decoders import LABEL_HEADS, Decoder
from ..trees import ModelConfig, Module
from .llama import LLAMA


def gelu_mlp(d: Decoder, c: ModelConfig) -> Module:
    """Gemma's MLP, whose activation has a key of its own."""
    act = c.text("hidden_activation", "hidden_act", default="gelu_pytorch_tanh")
    return gated_mlp(f"{d.name}MLP", d.width(c), d.inner(c), act=act)


LLAMA.like(
    "Gemma", vocab_size=256000, hidden_size=3072, intermediate_size=24576, num_hidden_layers=28,
    num_attention_heads=16, num_key_value_heads=16, head_dim=256, tie_word_embeddings=True,
    mlp_bias=None, embedding="TextScaledWordEmbedding", endings=LABEL_HEADS, mlp=gelu_mlp,
).register("gemma")  # fmt: skip
