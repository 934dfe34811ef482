"""Ling and Ring, first and second generation (Ant Group 2025). vLLM's and SGLang's bailing_moe.py
and bailing_moe_nextn.py read the same names."""

from ..layers import mixtures as m
from ..layers.blocks import gated_mlp
from ..layers.decoders import SEQUENCE_HEAD, Decoder, joined_layer, mixed
from ..layers.experts import router
from ..layers.heads import register_decoder
from ..layers.latent_decoders import dense_first
from ..layers.named_decoder import flagged
from ..trees import Buffer, Component, Linear, ModelConfig, Module

_bias = flagged("use_bias")


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    heads = d.heads(c)
    normed = d.qk_norm and c.flag("use_qk_norm", default=True)
    width = (heads.query + 2 * heads.kv) * heads.dim
    bias = _bias(c) or c.flag("use_qkv_bias", default=False)
    return Module(
        "BailingMoeAttention",
        query_key_value=Linear(h, width, bias=bias, kind="qkv"),
        query_layernorm=d.norm(d, c, heads.dim) if normed else None,
        key_layernorm=d.norm(d, c, heads.dim) if normed else None,
        dense=Linear(heads.query * heads.dim, h, bias=_bias(c), kind="output"),
        component=Component.ATTENTION,
    )


def _gate(x: m.Mixture) -> Module:
    corrected = x.d.qk_norm and x.c.flag("moe_router_enable_expert_bias", default=True)
    bias = Buffer(x.count, dtype="F32") if corrected else None
    return router("BailingMoeGate", x.width, x.count).adding(expert_bias=bias)


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    predicts = kind == "mtp"
    block = mixed(d, c, d.attention(d, c), "sparse" if predicts else kind, self_attn="attention")
    return joined_layer(d, c, block, "BailingMoeV2MTPLayer") if predicts else block


def _kinds(d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    more = int(c.count("num_nextn_predict_layers", default=0)) if d.qk_norm else 0
    return [*dense_first(0)(d, c, layers), *["mtp"] * more]


_SOURCE = "modeling_bailing_moe.py of inclusionAI/Ling-lite, _v2.py of Ling-mini-2.0; vLLM, SGLang"
_LING = Decoder(
    "BailingMoe",
    table="word_embeddings",
    rotary=False,
    tasks=SEQUENCE_HEAD,
    attention=_attention,
    layer=_layer,
    kinds=_kinds,
    mlp=lambda d, c: gated_mlp(
        "BailingMoeMLP", d.width(c), d.inner(c), bias=_bias(c), act=d.act(c)
    ),
    moe=m.sparse(
        "SparseMoeBlock",
        {**m.DEEPSEEK, "gate": _gate},
        count=m.counts("num_experts", default=16, minimum=1),
        used=2,
        inner=1408,
        shared=m.several("num_shared_experts", default=0),
    ),
).register("bailing_moe", source=_SOURCE)
# The second generation has norms of queries and keys, and with them the rest of its own.
_SECOND = _LING.like("BailingMoe", qk_norm=True)
register_decoder(
    "bailing_moe_v2",
    "BailingMoeV2",
    lambda c: _SECOND.named("BailingMoeV2Model", c),
    embedding="word_embeddings",
    hidden=_LING.width,
    heads=SEQUENCE_HEAD,
    source=_SOURCE,
)
