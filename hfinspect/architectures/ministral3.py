"""Ministral 3 (Mistral AI 2025; transformers/models/ministral3): Mistral with heads of 128."""

from ..layers.decoders import Decoder
from ..layers.windows import windows

Decoder(
    "Ministral3",
    vocab_size=131072,
    intermediate_size=14336,
    num_hidden_layers=34,
    num_key_value_heads=8,
    head_dim=128,
    rms_norm_eps=1e-05,
    attention_bias=None,
    windows=lambda c: windows(c, None),
).register("ministral3")
