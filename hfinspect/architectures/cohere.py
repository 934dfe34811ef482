"""Cohere Command R (2024). Source of shapes: transformers/models/cohere/modeling_cohere.py.

Attention and MLP run side by side on one norm, which has no bias. Command R+ also norms queries
and keys per head.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, Weight


def hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=8192)


def norm(name: str, *shape: Dim) -> Module:
    return Module(f"{name}LayerNorm", weight=Weight(*shape), component=Component.NORM)


def attention(c: ModelConfig, heads: Heads) -> Module:
    def norms() -> dict[str, Module]:
        if not c.flag("use_qk_norm", default=False):
            return {}
        return {
            "q_norm": norm("Cohere", heads.query, heads.dim),
            "k_norm": norm("Cohere", heads.kv, heads.dim),
        }

    bias = c.flag("attention_bias", default=False)
    return grouped_attention("CohereAttention", hidden(c), heads, bias=bias, norms=norms)


def mlp(c: ModelConfig, name: str) -> Module:
    inner = c.dim("intermediate_size", default=22528)
    return gated_mlp(f"{name}MLP", hidden(c), inner, act=c.text("hidden_act", default="silu"))


def model(c: ModelConfig) -> Module:
    h = hidden(c)
    layer = Module(
        "CohereDecoderLayer",
        self_attn=attention(c, grouped_heads(c, h, heads=64)),
        mlp=mlp(c, "Cohere"),
        input_layernorm=norm("Cohere", h),
    )
    return Module(
        "CohereModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=256000), h),
        layers=Layers.of(c.count("num_hidden_layers", default=40), layer),
        norm=norm("Cohere", h),
        rotary_emb=Activation("CohereRotaryEmbedding"),
    )


register(
    "cohere",
    decoder_classes("Cohere", model, hidden=hidden, tied_default=True, heads=()),
    base="CohereModel",
    base_prefix="model",
    category="text decoder",
)
