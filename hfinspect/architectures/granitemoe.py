"""Granite 3 MoE (IBM 2024; transformers/models/granitemoe). Files hold all experts of a layer in
two 3-D tensors, whatever the names in memory."""

from ..layers import mixtures as m
from ..layers.blocks import activation
from ..layers.decoders import Decoder, arranged, attends, feeds, normed
from ..trees.modules import Module, Weight

EXPERTS = m.counts("num_local_experts", "num_experts", default=8, minimum=1)
USED = m.counts("num_experts_per_tok", default=2)


def _fused(x: m.Mixture, outputs: int, inputs: int) -> Module:
    weight = Weight(x.count, outputs, inputs, active=x.active, kind="expert")
    return Module(f"{x.d.name}ParallelExperts", weight=weight)


moe = m.sparse(
    "MoE",
    {
        "router": m.scored_by("TopKRouter", "layer"),
        "input_linear": lambda x: _fused(x, 2 * x.inner, x.width),
        "output_linear": lambda x: _fused(x, x.width, x.inner),
        "activation": lambda x: activation(x.d.act(x.c)),
    },
    count=EXPERTS,
    used=USED,
)
LAYER = {"self_attn": attends, "input_layernorm": normed, "post_attention_layernorm": normed}
LAYER["block_sparse_moe"] = feeds
GRANITE_MOE = Decoder("GraniteMoe", tasks=(), moe=moe, layer=arranged(**LAYER))
GRANITE_MOE.register("granitemoe")
