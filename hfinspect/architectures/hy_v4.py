"""Hunyuan 4 (Tencent 2026; transformers/models/hy_v4); names of files: conversion_mapping.py. A
fresh save calls every ``gate_proj`` ``linear_gate``, those of MLPs too."""

from ..layers import mixtures as m
from ..layers.blocks import stream_weights
from ..layers.composing import respelled
from ..layers.decoders import Decoder, gated_of, mixed
from ..layers.latent_decoders import latent
from ..layers.layer_kinds import mlps, side_by_side, words
from ..trees import Dim, Linear, ModelConfig, Module, Weight, config_defaults


def _gated(d: Decoder, c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    return respelled(gated_of(d, c, inner, kind), {"gate_proj": "linear_gate"})


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    seeks = 16 if kind[1] == "full" else None
    h = d.width(c)
    streams = c.dim("hc_mult", default=4)
    mixer = latent(plain=192, value=256, seeks=seeks)(d, c)
    width = mixer.inside("o_proj").tensor().shape[1]
    sink = Weight(c.dim("num_attention_heads", default=32), kind="sink")
    gate = Linear(h, width, bias=False, kind="gate")
    block = mixed(d, c, mixer.adding(linear_gate=gate, learnable_sink_param=sink), kind)
    # How the streams join before a block (m rows) and receive its output (m rows).
    joint = Module("HYV4HyperConnection", dict(stream_weights(c, h, "hc_", streams * 2, 2)))
    return block.adding(hc_pre=Module("HyperConnections", hc_attn_layer=joint, hc_mlp_layer=joint))


def _joining(d: Decoder, c: ModelConfig) -> Module:
    return Module("HYV4HyperHead", dict(stream_weights(c, d.width(c), "hc_head_")))


_HY = Decoder(
    "HYV4",
    **config_defaults("hy_v4"),
    mlp=lambda d, c: _gated(d, c, d.inner(c)),
    layer=_layer,
    rotary=False,
    tasks=(),
    kinds=side_by_side(
        mlps(),
        words(
            lambda _c, i: "shared" if i and (i - 1) % 4 else "full",
            "full",
            "shared",
            key="indexer_types",
        ),
    ),
    moe=m.sparse(
        "MoE",
        {
            "experts": m.stacked(),
            "gate": m.corrected(),
            "shared_experts": lambda x: (
                None if x.shared is None else _gated(x.d, x.c, x.shared, "shared_expert")
            ),
        },
        count=m.counts("n_routed_experts", "num_local_experts", default=256, minimum=1),
        used=8,
        inner=768,
        shared=m.several("n_shared_experts", default=1),
        empty=True,
    ),
    further=lambda d, c: {"hc_pre": Module("HyperConnections", hc_head=_joining(d, c))},
)
# The base model as a root: a save then swaps the words of one name.
_BARE = _HY.like(
    "HYV4", further=lambda d, c: {"hc_head": Module("HYV4HyperHead", hc_pre=_joining(d, c))}
)
bare = _BARE.model
_HY.register("hy_v4", more={"HYV4Model": bare})
