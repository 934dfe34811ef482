"""Aria's text model (Rhymes AI 2024; transformers/models/aria). A Llama-like decoder with experts
in every layer. Files hold all experts of a layer in two 3-D tensors, input before output."""

from ..layers import mixtures as m
from ..layers.blocks import gated_mlp
from ..layers.decoders import Decoder
from ..trees import Dim, Module, Weight


def _experts(x: m.Mixture) -> Module:
    block = Module("AriaExperts")
    for name, sizes in {"fc1": (x.width, 2 * x.inner), "fc2": (x.inner, x.width)}.items():
        weight = Weight(x.count, *sizes, active=x.active, kind="expert")
        block.children[name] = Module("AriaGroupedExpertsGemm", weight=weight)
    return block


def _shared(x: m.Mixture) -> Module:
    bias = x.c.flag("mlp_bias", default=False)
    act = x.d.act(x.c)
    name = "AriaSharedExpertsMLP"
    inner = x.shared or Dim(0)
    return gated_mlp(name, x.width, inner, bias=bias, act=act, kind="shared_expert")


ARIA = Decoder(
    "AriaText",
    tasks=(),
    moe=m.sparse(
        "MoELayer",
        {"router": m.scores(), "experts": _experts, "shared_experts": _shared},
        count=m.counts("moe_num_experts", default=8, minimum=1),
        used=m.counts("moe_topk", default=2),
        empty=True,
        shared=m.several("moe_num_shared_experts", default=2),
    ),
).register("aria_text")
