"""Granite 3 MoE (IBM 2024). Source: transformers/models/granitemoe/modeling_granitemoe.py.

Granite with experts. Files hold all experts of a layer in two 3-D tensors, ``input_linear`` (gate
and up) and ``output_linear`` (down), whatever the names in memory.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.decoders import Decoder, block_sparse
from ..trees.modules import Linear, Module, Weight
from .llama import LLAMA


def moe(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), d.inner(c)
    count = c.count("num_local_experts", "num_experts", default=8, minimum=1)
    active = (min(int(c.count("num_experts_per_tok", default=2)), int(count)), int(count))
    router = Module(
        f"{d.name}TopKRouter", layer=Linear(h, count, bias=False), component=Component.ROUTER
    )

    def fused(outputs: int, inputs: int) -> Module:
        weight = Weight(count, outputs, inputs, active=active, kind="expert")
        return Module(f"{d.name}ParallelExperts", weight=weight)

    return Module(
        f"{d.name}MoE",
        router=router,
        input_linear=fused(2 * inner, h),
        output_linear=fused(h, inner),
        activation=activation(d.act(c)),
        component=Component.MLP,
    )


def moe_layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = block_sparse(d, c, kind)
    block.children["block_sparse_moe"] = block.children.pop("block_sparse_moe")
    return block


GRANITE_MOE = LLAMA.like(
    "GraniteMoe", mlp_bias=None, endings=(), moe=moe, layer=moe_layer,
).register("granitemoe")  # fmt: skip
