"""nanochat (Karpathy 2025). Source of shapes: transformers/models/nanochat.

Norms without any weight, a two-matrix MLP with squared ReLU, no biases by default.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.decoders import Decoder
from ..trees.modules import Activation, Linear, Module
from .llama import LLAMA


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), d.inner(c)
    return Module(
        "NanoChatMLP",
        activation_fn=activation(d.act(c)),
        fc1=Linear(h, inner, bias=False, kind="up"),
        fc2=Linear(inner, h, bias=False, kind="down"),
        component=Component.MLP,
    )


LLAMA.like(
    "NanoChat",
    vocab_size=50304,
    hidden_size=768,
    intermediate_size=8192,
    num_hidden_layers=12,
    num_attention_heads=6,
    hidden_act="relu2",
    mlp_bias=None,
    qk_norm=True,
    rotary=False,
    endings=(),
    norm=lambda _d, _c, _size: Activation("NanoChatRMSNorm"),
    mlp=_mlp,
).register("nanochat")
