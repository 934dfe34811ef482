"""MiniCPM3 (OpenBMB 2024; transformers/models/minicpm3): latent attention, dense MLPs."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..layers.latent_decoders import latent

Decoder(
    "MiniCPM3",
    embedding="ScaledWordEmbedding",
    rotary=False,
    tasks=SEQUENCE_HEAD,
    attention=lambda d, c: latent(
        query_rank=768,
        kv_rank=256,
        plain=64,
        rotary=32,
        value=d.width(c) // c.dim("num_attention_heads", default=40),
    )(d, c),
).register("minicpm3")
