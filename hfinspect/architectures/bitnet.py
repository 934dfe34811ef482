"""BitNet b1.58 (Ma et al. 2025; transformers/models/bitnet), unpacked: a norm before the output of
attention and of the MLP. Files of packed ternary weights hold four values in a byte."""

from ..layers.decoders import Decoder, adding, gated, grouped, normed

Decoder(
    "BitNet",
    tasks=(),
    attention=adding(grouped, attn_sub_norm=normed),
    mlp=adding(gated, ffn_sub_norm=lambda d, c: d.norm(d, c, d.inner(c))),
).register("bitnet")
