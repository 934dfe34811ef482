"""Gemma (Gemma Team 2024; transformers/models/gemma): wide heads, a tied and scaled embedding."""

from ..layers.decoders import LABEL_HEADS, Decoder, gated_by

Decoder(
    "Gemma",
    embedding="TextScaledWordEmbedding",
    tasks=LABEL_HEADS,
    mlp=gated_by("hidden_activation", "hidden_act"),
).register("gemma")
