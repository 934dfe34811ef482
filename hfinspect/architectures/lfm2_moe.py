"""LFM2-MoE (Liquid AI 2025). Source of shapes: transformers/models/lfm2_moe.

Short convolutions and grouped attention by layer_types; after the first dense layers, experts in
Mixtral's spelling with a bias for balance, a buffer in float32.
"""

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..layers.decoders import Decoder
from ..layers.experts import experts, router
from ..trees.modules import Module, Parameter
from .lfm2 import LFM2, layer, older_tie, three


def _sparse(d: Decoder, c: ModelConfig) -> Module:
    h, count = d.width(c), c.count("num_experts", default=32)
    per_token = c.dim("num_experts_per_tok", default=4)
    bias = Parameter((count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER)
    expert = three(d, c, c.dim("moe_intermediate_size", default=1792), expert=True)
    return Module(
        "Lfm2MoeSparseMoeBlock",
        experts=experts(count, per_token, expert, class_name="Lfm2MoeExperts"),
        gate=router("Lfm2MoeTopKRouter", h, count),
        expert_bias=bias if c.flag("use_expert_bias", default=True) else None,
        component=Component.MLP,
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[str, str]]:
    dense = int(c.count("num_dense_layers", default=2))
    kinds = c.strings("layer_types", count=layers)  # the class has no default for it
    return [(kind, "dense" if i < dense else "sparse") for i, kind in enumerate(kinds)]


_MOE = LFM2.like(
    "Lfm2Moe", hidden_size=2048, intermediate_size=7168, moe=_sparse, kinds=_kinds, rotary=False,
    layer=lambda d, c, kind: layer(d, c, *kind),
    mlp=lambda d, c: three(d, c, d.inner(c), expert=True),
)  # fmt: skip
_MOE.register("lfm2_moe", more=older_tie(_MOE))
