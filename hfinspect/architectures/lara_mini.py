"""Lara Mini (2026; transformers/models/lara_mini; names: conversion_mapping.py): Qwen3-Next
with one projection into a delta net, windows, and a shared expert that no gate weighs."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, mixed
from ..layers.layer_kinds import words
from ..layers.windows import windows
from ..trees import Linear, ModelConfig, Module
from .llama import LLAMA
from .qwen3_next import delta_net

_LINEAR = "linear_attention"
_SLIDES = "sliding_attention"
_FULL = "full_attention"
_PERIOD = (_LINEAR, _SLIDES, _LINEAR, _FULL, _SLIDES)


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    if kind != _LINEAR:
        return mixed(d, c, d.attention(d, c), "sparse")
    net = delta_net(d, c.with_defaults(linear_num_key_heads=8, linear_num_value_heads=16))
    parts = [net.inside(f"in_proj_{x}").tensor().shape[0] for x in ("qkv", "z", "b", "a")]
    net.adding(in_proj=Linear(d.width(c), sum(parts[1:], parts[0]), bias=False))
    net.children["out_norm"] = net.children.pop("norm")
    net.without(*(f"in_proj_{x}" for x in ("qkv", "z", "b", "a")))
    return mixed(d, c, net, "sparse", self_attn="linear_attn")


_SPARSE = m.sparse(
    "SparseMoeBlock",
    {"experts": m.stacked(act=True), "gate": m.scores(), "shared_expert": m.always},
    count=m.counts("num_experts", default=128),
    used=4,
    inner=512,
    shared=m.as_wide("shared_expert_intermediate_size", default=512),
    empty=True,
)
LLAMA.like(
    "LaraMini",
    mlp_bias=None,
    qk_norm=True,
    moe=_SPARSE,
    layer=_layer,
    kinds=words(lambda _c, i: _PERIOD[i % 5], _LINEAR, _SLIDES, _FULL),
    windows=lambda c: windows(c, 512, lambda i, _: _PERIOD[i % 5] != _SLIDES),
    tasks=(),
).register("lara_mini")
