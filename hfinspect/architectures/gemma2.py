"""Gemma 2 (Gemma Team 2024; transformers/models/gemma2). Gemma with a norm before and after each
half of a layer. Layers alternate between sliding and full attention, which changes no tensor."""

from ..layers.decoders import LABEL_HEADS, Decoder, gated_by, sandwich
from ..layers.windows import every, windows

GEMMA2 = Decoder(
    "Gemma2",
    layer=sandwich,
    windows=lambda c: windows(c, 4096, every(2)),
    embedding="TextScaledWordEmbedding",
    tasks=LABEL_HEADS,
    mlp=gated_by("hidden_activation"),
).register("gemma2")
