"""nanochat (Karpathy 2025). Source of shapes: transformers/models/nanochat.

Norms without any weight, a two-matrix MLP with squared ReLU, no biases by default.
"""

from ..core.config import ModelConfig
from ..layers.decoders import Decoder
from ..layers.vision import plain_mlp
from ..trees.modules import Activation, Module
from .llama import LLAMA


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), d.inner(c)
    return plain_mlp("NanoChatMLP", h, inner, act=d.act(c), bias=False)


LLAMA.like(
    "NanoChat", vocab_size=50304, hidden_size=768, intermediate_size=8192, num_hidden_layers=12,
    num_attention_heads=6, hidden_act="relu2", mlp_bias=None, qk_norm=True, rotary=False,
    endings=(), norm=lambda _d, _c, _size: Activation("NanoChatRMSNorm"), mlp=_mlp,
).register("nanochat")  # fmt: skip
