"""Helium (Kyutai 2025; transformers/models/helium): Llama with a square output matrix."""

from ..layers.decoders import LABEL_HEADS, Decoder, adding, grouped
from ..trees import Linear

Decoder(
    "Helium",
    vocab_size=48000,
    hidden_size=2560,
    intermediate_size=7040,
    num_hidden_layers=24,
    num_attention_heads=20,
    num_key_value_heads=20,
    head_dim=128,
    rms_norm_eps=1e-08,
    mlp_bias=False,
    out_bias=False,
    rotary=False,
    endings=LABEL_HEADS,
    attention=adding(
        grouped, o_proj=lambda d, c: Linear(d.width(c), d.width(c), bias=False, kind="output")
    ),
).register("helium")
