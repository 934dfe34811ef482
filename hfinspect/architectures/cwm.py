"""Code World Model (Meta FAIR 2025; transformers/models/cwm): Llama; three of four layers slide."""

from ..layers.windows import every, windows
from .llama import LLAMA

LLAMA.like(
    "Cwm",
    vocab_size=128256,
    hidden_size=6144,
    intermediate_size=21504,
    num_hidden_layers=64,
    num_attention_heads=48,
    num_key_value_heads=8,
    head_dim=128,
    rms_norm_eps=1e-05,
    attention_bias=None,
    windows=lambda c: windows(c, 8192, every(4, first=0)),
    endings=(),
).register("cwm")
