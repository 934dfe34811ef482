"""Helium (Kyutai 2025; transformers/models/helium): Llama with a square output matrix."""

from ..layers.decoders import LABEL_HEADS, Decoder, adding, grouped
from ..trees import Linear

Decoder(
    "Helium",
    out_bias=False,
    rotary=False,
    tasks=LABEL_HEADS,
    attention=adding(
        grouped, o_proj=lambda d, c: Linear(d.width(c), d.width(c), bias=False, kind="output")
    ),
).register("helium")
