"""MiniCPM3 (OpenBMB 2024; transformers/models/minicpm3): latent attention, dense MLPs."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..layers.latent_decoders import latent

Decoder(
    "MiniCPM3",
    vocab_size=73448,
    hidden_size=2560,
    intermediate_size=6400,
    num_hidden_layers=62,
    num_attention_heads=40,
    rms_norm_eps=1e-05,
    tie_word_embeddings=True,
    mlp_bias=False,
    embedding="ScaledWordEmbedding",
    rotary=False,
    endings=SEQUENCE_HEAD,
    attention=lambda d, c: latent(
        query_rank=768,
        kv_rank=256,
        plain=64,
        rotary=32,
        value=d.width(c) // c.dim("num_attention_heads", default=40),
    )(d, c),
).register("minicpm3")
