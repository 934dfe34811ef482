"""Granite MoE, and next to the experts a dense MLP where ``shared_intermediate_size`` is not 0 (IBM
2025; transformers/models/granitemoeshared)."""

from ..layers.blocks import activation
from ..layers.decoders import Decoder, arranged
from ..trees import Component, Dim, Linear, ModelConfig, Module
from .granitemoe import GRANITE_MOE, LAYER


def shared_mlp(d: Decoder, c: ModelConfig, inner: Dim) -> Module:
    return Module(
        f"{d.name}MLP",
        activation=activation(d.act(c)),
        input_linear=Linear(d.width(c), inner * 2, bias=False),
        output_linear=Linear(inner, d.width(c), bias=False),
        component=Component.MLP,
        kind="shared_expert",
    )


def _shared(d: Decoder, c: ModelConfig, _kind: object) -> Module | None:
    inner = c.dim("shared_intermediate_size", default=0, minimum=0)
    return shared_mlp(d, c, inner) if inner else None


GRANITE_MOE_SHARED = GRANITE_MOE.like(
    "GraniteMoeShared", layer=arranged(**LAYER, shared_mlp=_shared)
).register("granitemoeshared")
