"""Spark X2.5 (XHToken 2026). A published index gives the total of its 4B model."""

from ..layers.decoders import Decoder
from ..trees import Component, Linear, ModelConfig, Module


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h, heads, bias = d.width(c), d.heads(c), c.flag("attention_bias", default=False)
    width, gated = heads.query * heads.dim, c.flag("headwise_attn_output_gate", default=True)
    return Module(
        "Spark2_5Attention",
        q_k_v_proj=Linear(h, width + 2 * (heads.kv * heads.dim), bias=bias, kind="qkv"),
        g_proj=Linear(h, heads.query, bias=bias, kind="gate") if gated else None,
        out_proj=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


Decoder(
    "Spark2_5",
    vocab_size=131072,
    hidden_size=2560,
    intermediate_size=10240,
    num_hidden_layers=36,
    num_attention_heads=16,
    num_key_value_heads=4,
    head_dim=256,
    hidden_act="gelu",
    mlp_bias=False,
    rotary=False,
    attention=_attention,
    table="embedding",
    tie_word_embeddings=True,
    endings=(),
).register("spark2_5", source="modeling_spark.py of Spark X2.5")
