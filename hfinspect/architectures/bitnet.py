"""BitNet b1.58 (Ma et al. 2025; transformers/models/bitnet), unpacked: a norm before the output of
attention and of the MLP. Files of packed ternary weights hold four values in a byte."""

from ..layers.decoders import Decoder, adding, gated, grouped, normed

Decoder(
    "BitNet",
    vocab_size=128256,
    hidden_size=2560,
    intermediate_size=6912,
    num_hidden_layers=30,
    num_attention_heads=20,
    num_key_value_heads=5,
    rms_norm_eps=1e-05,
    hidden_act="relu2",
    endings=(),
    attention=adding(grouped, attn_sub_norm=normed),
    mlp=adding(gated, ffn_sub_norm=lambda d, c: d.norm(d, c, d.inner(c))),
).register("bitnet")
