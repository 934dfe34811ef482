"""Ministral 3 (Mistral AI 2025; transformers/models/ministral3): Mistral with heads of 128."""

from ..layers.decoders import Decoder
from ..layers.windows import windows

Decoder("Ministral3", attention_bias=None, windows=lambda c: windows(c, None)).register(
    "ministral3"
)
