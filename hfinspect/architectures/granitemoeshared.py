"""Granite MoE with a shared expert (IBM 2025).

Source of shapes: transformers/models/granitemoeshared/modeling_granitemoeshared.py.
Granite MoE, and next to the experts a dense MLP where ``shared_intermediate_size`` is not 0.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.decoders import Decoder
from ..trees.modules import Linear, Module
from .granitemoe import GRANITE_MOE, moe_layer


def shared_mlp(d: Decoder, c: ModelConfig, inner: Dim) -> Module:
    return Module(
        f"{d.name}MLP",
        activation=activation(d.act(c)),
        input_linear=Linear(d.width(c), inner * 2, bias=False),
        output_linear=Linear(inner, d.width(c), bias=False),
        component=Component.MLP,
        kind="shared_expert",
    )


def shared_layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block, inner = moe_layer(d, c, kind), c.dim("shared_intermediate_size", default=0, minimum=0)
    if inner:
        block.children["shared_mlp"] = shared_mlp(d, c, inner)
    return block


GRANITE_MOE_SHARED = GRANITE_MOE.like("GraniteMoeShared", layer=shared_layer).register(
    "granitemoeshared"
)
