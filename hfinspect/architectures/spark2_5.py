"""Spark X2.5 (XHToken 2026). A published index gives the total of its 4B model."""

from ..layers.decoders import Decoder
from ..trees import Component, Linear, ModelConfig, Module


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    heads = d.heads(c)
    bias = c.flag("attention_bias", default=False)
    width = heads.query * heads.dim
    gated = c.flag("headwise_attn_output_gate", default=True)
    return Module(
        "Spark2_5Attention",
        q_k_v_proj=Linear(h, width + 2 * (heads.kv * heads.dim), bias=bias, kind="qkv"),
        g_proj=Linear(h, heads.query, bias=bias, kind="gate") if gated else None,
        out_proj=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


Decoder("Spark2_5", rotary=False, attention=_attention, table="embedding", tasks=()).register(
    "spark2_5", source="modeling_spark.py of Spark X2.5"
)
