"""Granite with sliding windows (IBM 2026; transformers/models/granite_swa)."""

from ..layers.decoders import sinks
from ..layers.windows import every, windows
from .llama import LLAMA

LLAMA.like(
    "GraniteSWA",
    vocab_size=100352,
    hidden_size=2560,
    intermediate_size=8192,
    num_hidden_layers=24,
    num_attention_heads=20,
    num_key_value_heads=4,
    rms_norm_eps=1e-05,
    tie_word_embeddings=True,
    windows=lambda c: windows(c, 128, every(4, first=0)),
    rotary=False,
    endings=(),
    attention=sinks,
).register("granite_swa")
