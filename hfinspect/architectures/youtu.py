"""Youtu-LLM (Tencent 2025; transformers/models/youtu). DeepSeek-V3's latent attention in a dense
decoder."""

from ..layers.latent_decoders import latent
from .llama import LLAMA

LLAMA.like(
    "Youtu", vocab_size=128256, hidden_size=2048, intermediate_size=6144, num_attention_heads=16,
    tie_word_embeddings=True, mlp_bias=None, rotary=False, endings=(), attention=latent(),
).register("youtu")  # fmt: skip
