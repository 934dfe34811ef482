"""LFM3 (Liquid AI 2026; transformers/models/lfm3); names of files: conversion_mapping.py."""

from functools import partial

from ..layers.decoders import Decoder, adding, grouped, normed, norms_called
from ..layers.layer_kinds import words
from ..layers.windows import windows
from ..trees import Activation, Linear, ModelConfig, Module
from .lfm2 import layer, three


def _after(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    return normed(d, c) if c.flag("use_sandwich_norm", default=True) else Activation("Identity")


Decoder(
    "Lfm3",
    qk_norm=True,
    attention=adding(
        grouped,
        gate_proj=lambda d, c: (
            Linear(d.width(c), d.heads(c).query, bias=False, kind="gate")
            if c.flag("use_attention_gate", default=True)
            else None
        ),
    ),
    norm=norms_called("Lfm3RMSNorm", "norm_eps", "rms_norm_eps"),
    layer=adding(partial(layer, kernel=7), post_operator_norm=_after, post_ffn_norm=_after),
    mlp=lambda d, c: three(d, c, d.inner(c)),
    kinds=words(
        lambda _c, i: (
            "full_attention" if i % 4 == 2 else "sliding_attention" if i and i % 4 == 0 else "conv"
        ),
        "conv",
        "full_attention",
        "sliding_attention",
    ),
    windows=lambda c: windows(c, 256, lambda i, _: i % 4 != 0 or i == 0),
    last_norm="embedding_norm",
    rotary=False,
    tasks=(),
).register("lfm3")
