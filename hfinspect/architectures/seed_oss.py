"""Seed-OSS (ByteDance 2025). Source of shapes: transformers/models/seed_oss/modeling_seed_oss.py.

A Llama-like decoder with biases on queries, keys and values but not on the output, and heads wider
in sum than the model (80 of 128 at width 4096 by default).
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="SeedOssRMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    # A null head_dim means hidden / heads; only an absent one is 128.
    head_dim = None if "head_dim" in c.values else 128
    return Module(
        "SeedOssDecoderLayer",
        self_attn=grouped_attention(
            "SeedOssAttention",
            h,
            grouped_heads(c, h, heads=80, kv=8, head_dim=head_dim),
            bias=c.flag("attention_bias", default=True),
            out_bias=c.flag("attention_out_bias", default=False),
        ),
        mlp=gated_mlp(
            "SeedOssMLP",
            h,
            c.dim("intermediate_size", default=27648),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "SeedOssModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=155136), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=64), layer(c)),
        norm=_norm(c),
        rotary_emb=Activation("SeedOssRotaryEmbedding"),
    )


register(
    "seed_oss",
    decoder_classes("SeedOss", model, hidden=_hidden, qa_prefix="transformer"),
    base="SeedOssModel",
    base_prefix="model",
    category="text decoder",
)
