"""Gemma (Gemma Team 2024; transformers/models/gemma): wide heads, a tied and scaled embedding."""

from ..layers.decoders import LABEL_HEADS, Decoder, gated_by

Decoder(
    "Gemma",
    vocab_size=256000,
    hidden_size=3072,
    intermediate_size=24576,
    num_hidden_layers=28,
    num_attention_heads=16,
    num_key_value_heads=16,
    head_dim=256,
    tie_word_embeddings=True,
    embedding="TextScaledWordEmbedding",
    endings=LABEL_HEADS,
    mlp=gated_by("hidden_activation", "hidden_act"),
).register("gemma")
