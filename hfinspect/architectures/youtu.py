"""Youtu-LLM (Tencent 2025; transformers/models/youtu): latent attention, dense MLPs."""

from ..layers.decoders import Decoder
from ..layers.latent_decoders import latent

Decoder(
    "Youtu",
    vocab_size=128256,
    hidden_size=2048,
    intermediate_size=6144,
    num_attention_heads=16,
    tie_word_embeddings=True,
    rotary=False,
    endings=(),
    attention=latent(),
).register("youtu")
