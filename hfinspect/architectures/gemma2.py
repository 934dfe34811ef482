"""Gemma 2 (Gemma Team 2024; transformers/models/gemma2). Gemma with a norm before and after each
half of a layer. Layers alternate between sliding and full attention, which changes no tensor."""

from ..layers.blocks import gated_mlp
from ..layers.decoders import LABEL_HEADS, Decoder, sandwich
from ..layers.windows import every, windows
from ..trees import ModelConfig, Module
from .llama import LLAMA


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    act = c.text("hidden_activation", default="gelu_pytorch_tanh")
    return gated_mlp(f"{d.name}MLP", d.width(c), d.inner(c), act=act)


GEMMA2 = LLAMA.like(
    "Gemma2", vocab_size=256000, hidden_size=2304, intermediate_size=9216, num_hidden_layers=26,
    num_attention_heads=8, num_key_value_heads=4, head_dim=256, tie_word_embeddings=True,
    mlp_bias=None, layer=sandwich, windows=lambda c: windows(c, 4096, every(2)),
    embedding="TextScaledWordEmbedding", endings=LABEL_HEADS, mlp=_mlp,
).register("gemma2")  # fmt: skip
