"""Hunyuan dense (Tencent 2025).

Source of shapes: transformers/models/hunyuan_v1_dense/modeling_hunyuan_v1_dense.py.
A Llama-like decoder with norms of queries and keys.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def norm(c: ModelConfig, width: Dim, name: str) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(width, eps=eps, class_name=f"{name}RMSNorm")


def attention(c: ModelConfig, name: str) -> Module:
    heads = grouped_heads(c, hidden(c), heads=32)

    def norms() -> dict[str, Module]:
        return {
            "query_layernorm": norm(c, heads.dim, name),
            "key_layernorm": norm(c, heads.dim, name),
        }

    bias = c.flag("attention_bias", default=False)
    return grouped_attention(f"{name}Attention", hidden(c), heads, bias=bias, norms=norms)


def mlp(c: ModelConfig, name: str, kind: str | None = None) -> Module:
    inner = c.dim("intermediate_size", default=11008)
    act = c.text("hidden_act", default="silu")
    return gated_mlp(f"{name}MLP", hidden(c), inner, act=act, kind=kind)


def model(c: ModelConfig) -> Module:
    name, h = "HunYuanDenseV1", hidden(c)
    layer = Module(
        "HunYuanDenseV1DecoderLayer",
        self_attn=attention(c, name),
        mlp=mlp(c, name),
        input_layernorm=norm(c, h, name),
        post_attention_layernorm=norm(c, h, name),
    )
    return Module(
        "HunYuanDenseV1Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=290943), h),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer),
        norm=norm(c, h, name),
        rotary_emb=Activation("HunYuanDenseV1RotaryEmbedding"),
    )


register(
    "hunyuan_v1_dense",
    decoder_classes("HunYuanDenseV1", model, hidden=hidden, heads=("ForSequenceClassification",)),
    base="HunYuanDenseV1Model",
    base_prefix="model",
    category="text decoder",
)
