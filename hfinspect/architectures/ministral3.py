"""Ministral 3 (Mistral AI 2025). Source: transformers/models/ministral3/modeling_ministral3.py.

Mistral's block with heads of 128 whatever the hidden size.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-5), class_name="Ministral3RMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "Ministral3DecoderLayer",
        self_attn=grouped_attention(
            "Ministral3Attention", h, grouped_heads(c, h, heads=32, kv=8, head_dim=128)
        ),
        mlp=gated_mlp(
            "Ministral3MLP",
            h,
            c.dim("intermediate_size", default=14336),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Ministral3Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=131072), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=34), layer(c), windows=windows(c, None)
        ),
        norm=_norm(c),
        rotary_emb=Activation("Ministral3RotaryEmbedding"),
    )


register(
    "ministral3",
    decoder_classes("Ministral3", model, hidden=_hidden),
    base="Ministral3Model",
    base_prefix="model",
    category="text decoder",
)
