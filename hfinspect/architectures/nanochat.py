"""nanochat (Karpathy 2025). Source of shapes: transformers/models/nanochat.

Norms without any weight, a two-matrix MLP with squared ReLU, no biases by default.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _norm() -> Module:
    return Activation("NanoChatRMSNorm")


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=8192)
    return Module(
        "NanoChatDecoderLayer",
        self_attn=grouped_attention(
            "NanoChatAttention",
            h,
            grouped_heads(c, h, heads=6),
            bias=c.flag("attention_bias", default=False),
            norms=lambda: {"q_norm": _norm(), "k_norm": _norm()},
        ),
        mlp=Module(
            "NanoChatMLP",
            activation_fn=activation(c.text("hidden_act", default="relu2")),
            fc1=Linear(h, inner, bias=False, kind="up"),
            fc2=Linear(inner, h, bias=False, kind="down"),
            component=Component.MLP,
        ),
        input_layernorm=_norm(),
        post_attention_layernorm=_norm(),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "NanoChatModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=50304), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=12), layer(c)),
        norm=_norm(),
    )


register(
    "nanochat",
    decoder_classes("NanoChat", model, heads=()),
    base="NanoChatModel",
    base_prefix="model",
    category="text decoder",
)
