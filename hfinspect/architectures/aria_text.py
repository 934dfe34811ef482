"""Aria's text model (Rhymes AI 2024; transformers/models/aria). A Llama-like decoder with experts
in every layer. Files hold all experts of a layer in two 3-D tensors, input before output."""

from ..layers import mixtures as m
from ..layers.blocks import gated_mlp
from ..layers.decoders import Decoder
from ..trees import Dim, Module, Weight


def _fused(x: m.Mixture, inputs: int, outputs: int) -> Module:
    weight = Weight(x.count, inputs, outputs, active=x.active, kind="expert")
    return Module("AriaGroupedExpertsGemm", weight=weight)


def _experts(x: m.Mixture) -> Module:
    fc1, fc2 = _fused(x, x.width, 2 * x.inner), _fused(x, x.inner, x.width)
    return Module("AriaExperts", fc1=fc1, fc2=fc2)


def _shared(x: m.Mixture) -> Module:
    bias, act = x.c.flag("mlp_bias", default=False), x.d.act(x.c)
    name, inner = "AriaSharedExpertsMLP", x.shared or Dim(0)
    return gated_mlp(name, x.width, inner, bias=bias, act=act, kind="shared_expert")


ARIA = Decoder(
    "AriaText", intermediate_size=4096, endings=(), moe=m.sparse(
        "MoELayer", {"router": m.scores(), "experts": _experts, "shared_experts": _shared},
        count=m.counts("moe_num_experts", default=8, minimum=1),
        used=m.counts("moe_topk", default=2), empty=True,
        shared=m.several("moe_num_shared_experts", default=2),
    ),
).register("aria_text")  # fmt: skip
