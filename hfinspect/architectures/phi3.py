"""Phi-3, 3.5 and 4 (Abdin et al. 2024; transformers/models/phi3): Llama with joined matrices."""

from ..layers.decoders import LABEL_HEADS, Decoder, adding, fused_mlp, pre_norm
from ..layers.windows import windows
from ..trees import Component, Dropout, Linear, ModelConfig, Module


def _attention(d: Decoder, c: ModelConfig) -> Module:
    """H·(h + 2g)·d for queries, keys and values together."""
    h = d.width(c)
    heads = d.heads(c)
    width = heads.query * heads.dim
    return Module(
        f"{d.name}Attention",
        o_proj=Linear(width, h, bias=False, kind="output"),
        qkv_proj=Linear(h, width + 2 * (heads.kv * heads.dim), bias=False, kind="qkv"),
        component=Component.ATTENTION,
    )


def _dropout(_d: Decoder, c: ModelConfig, _kind: str) -> Module:
    return Dropout(c.number("resid_pdrop", default=0.0))


layer = adding(pre_norm, resid_attn_dropout=_dropout, resid_mlp_dropout=_dropout)
PHI3 = Decoder(
    "Phi3",
    attention_bias=None,
    windows=lambda c: windows(c, None),
    tasks=LABEL_HEADS,
    attention=_attention,
    mlp=fused_mlp,
    layer=layer,
).register("phi3")
