"""OLMo 2 (OLMo Team 2024). Source of shapes: transformers/models/olmo2/modeling_olmo2.py.

Norms follow attention and MLP instead of preceding them, and span all query or key heads at once
inside attention.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import Base, decoder_classes
from ..layers.windows import nowhere
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm, Windows


def hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def norm(c: ModelConfig, width: Dim, name: str) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(width, eps=eps, class_name=f"{name}RMSNorm")


def attention(c: ModelConfig, name: str) -> Module:
    h = hidden(c)
    heads = grouped_heads(c, h, heads=32)

    def norms() -> dict[str, Module]:
        return {
            "q_norm": norm(c, heads.query * heads.dim, name),
            "k_norm": norm(c, heads.kv * heads.dim, name),
        }

    bias = c.flag("attention_bias", default=False)
    return grouped_attention(f"{name}Attention", h, heads, bias=bias, norms=norms)


def mlp(c: ModelConfig, name: str) -> Module:
    inner = c.dim("intermediate_size", default=11008)
    return gated_mlp(f"{name}MLP", hidden(c), inner, act=c.text("hidden_act", default="silu"))


def layer(c: ModelConfig, name: str) -> Module:
    return Module(
        f"{name}DecoderLayer",
        self_attn=attention(c, name),
        mlp=mlp(c, name),
        post_attention_layernorm=norm(c, hidden(c), name),
        post_feedforward_layernorm=norm(c, hidden(c), name),
    )


def base(name: str, windowed: Callable[[ModelConfig], Windows] = lambda _: nowhere) -> Base:
    """The model whose classes begin with ``name``; ``windowed`` reads the layers' windows."""

    def build(c: ModelConfig) -> Module:
        return Module(
            f"{name}Model",
            embed_tokens=Embedding(c.dim("vocab_size", default=50304), hidden(c)),
            layers=Layers.of(
                c.count("num_hidden_layers", default=32), layer(c, name), windows=windowed(c)
            ),
            norm=norm(c, hidden(c), name),
            rotary_emb=Activation(f"{name}RotaryEmbedding"),
        )

    return build


register(
    "olmo2",
    decoder_classes("Olmo2", base("Olmo2"), hidden=hidden, heads=("ForSequenceClassification",)),
    base="Olmo2Model",
    base_prefix="model",
    category="text decoder",
)
