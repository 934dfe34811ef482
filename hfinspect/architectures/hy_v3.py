"""Hunyuan 3 (Tencent 2026; transformers/models/hy_v3); names of files: conversion_mapping.py. The
layers for further tokens: vLLM, model_executor/models/hy_v3_mtp.py. Whether files hold a head of
their own (``shared_head``) for these, which vLLM skips, is not known: left out."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, joined_layer, pre_norm
from ..layers.layer_kinds import mlps
from ..trees import Component, Dim, Linear, ModelConfig, Module


def _router(x: m.Mixture) -> Module:
    scores = Linear(x.width, x.count, bias=False, class_name="HYV3TopKRouter")
    return Module("HYV3TopKRouter", gate=scores, component=Component.ROUTER)


def _shared(c: ModelConfig, inner: Dim) -> Dim:
    """No shared experts leave one of the usual width (HYV3MLP)."""
    return inner * c.count("num_shared_experts", default=1) or _HY.inner(c)


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, "sparse" if kind == "mtp" else kind)
    if kind == "mtp":
        block = joined_layer(d, c, block, "HYV3MTPDecoderLayer")
        block.saved = False
    return block


def _kinds(d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    more = int(c.count("num_nextn_predict_layers", default=0))
    return [*mlps()(d, c, layers), *["mtp"] * more]


_HY = Decoder(
    "HYV3",
    qk_norm=True,
    layer=_layer,
    kinds=_kinds,
    rotary=False,
    tasks=(),
    moe=m.sparse(
        "MoE",
        {"expert_bias": m.correction, "router": _router, "experts": m.each, "shared_mlp": m.biased},
        count=m.counts("num_experts", "num_local_experts", default=192),
        used=8,
        inner=1536,
        shared=_shared,
    ),
).register("hy_v3")
