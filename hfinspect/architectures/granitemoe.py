"""Granite 3 MoE (IBM 2024). Source: transformers/models/granitemoe/modeling_granitemoe.py.

Granite with experts. Files hold all experts of a layer in two 3-D tensors, ``input_linear`` (gate
and up) and ``output_linear`` (down), whatever the names in memory.
"""

from ..core.components import Component
from ..layers import mixtures as m
from ..layers.blocks import activation
from ..layers.decoders import arranged, attends, feeds, normed
from ..trees.modules import Linear, Module, Weight
from .llama import LLAMA

EXPERTS = m.counts("num_local_experts", "num_experts", default=8, minimum=1)
USED = m.counts("num_experts_per_tok", default=2)


def _router(x: m.Mixture) -> Module:
    scores = Linear(x.width, x.count, bias=False)
    return Module(f"{x.d.name}TopKRouter", layer=scores, component=Component.ROUTER)


def _fused(x: m.Mixture, outputs: int, inputs: int) -> Module:
    weight = Weight(x.count, outputs, inputs, active=x.active, kind="expert")
    return Module(f"{x.d.name}ParallelExperts", weight=weight)


moe = m.sparse(
    "MoE",
    {
        "router": _router, "input_linear": lambda x: _fused(x, 2 * x.inner, x.width),
        "output_linear": lambda x: _fused(x, x.width, x.inner),
        "activation": lambda x: activation(x.d.act(x.c)),
    },
    count=EXPERTS, used=USED,
)  # fmt: skip
LAYER = {
    "self_attn": attends, "input_layernorm": normed, "post_attention_layernorm": normed,
    "block_sparse_moe": feeds,
}  # fmt: skip
GRANITE_MOE = LLAMA.like(
    "GraniteMoe", mlp_bias=None, endings=(), moe=moe, layer=arranged(**LAYER)
).register("granitemoe")
