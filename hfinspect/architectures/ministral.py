"""Ministral (Mistral AI 2024). Source: transformers/models/ministral/modeling_ministral.py.

Mistral's block; windowed and full attention alternate, which changes no tensor.
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
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="MinistralRMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "MinistralDecoderLayer",
        self_attn=grouped_attention("MinistralAttention", h, grouped_heads(c, h, heads=32, kv=8)),
        mlp=gated_mlp(
            "MinistralMLP",
            h,
            c.dim("intermediate_size", default=14336),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "MinistralModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32), layer(c), windows=windows(c, 4096)
        ),
        norm=_norm(c),
        rotary_emb=Activation("MinistralRotaryEmbedding"),
    )


register(
    "ministral",
    decoder_classes("Ministral", model, hidden=_hidden, qa_prefix="transformer"),
    base="MinistralModel",
    base_prefix="model",
    category="text decoder",
)
