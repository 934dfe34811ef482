"""FlexOlmo (Shi et al. 2025). Source: transformers/models/flex_olmo/modeling_flex_olmo.py.

OLMo 2's layer with experts in place of the MLP.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.experts import sparse_block
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-6), class_name="FlexOlmoRMSNorm")


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=11008)
    heads = grouped_heads(c, h, heads=32)
    return Module(
        "FlexOlmoDecoderLayer",
        self_attn=grouped_attention(
            "FlexOlmoAttention",
            h,
            heads,
            bias=c.flag("attention_bias", default=False),
            norms=lambda: {
                "q_norm": _norm(c, heads.query * heads.dim),
                "k_norm": _norm(c, heads.kv * heads.dim),
            },
        ),
        mlp=sparse_block(
            "FlexOlmo",
            h,
            inner,
            count=c.count("num_experts", "num_local_experts", default=7, minimum=1),
            per_token=c.count("num_experts_per_tok", default=5),
            shared=None,
            act=c.text("hidden_act", default="silu"),
        ),
        post_attention_layernorm=_norm(c, h),
        post_feedforward_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "FlexOlmoModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=100352), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("FlexOlmoRotaryEmbedding"),
    )


register(
    "flex_olmo",
    decoder_classes("FlexOlmo", model, hidden=_hidden, heads=()),
    base="FlexOlmoModel",
    base_prefix="model",
    category="text decoder",
)
