"""Laguna (poolside 2026; transformers/models/laguna). Layers may have heads of their own number;
the router's correction bias, a parameter here, lies next to the experts in files."""

from collections.abc import Sequence

from ..layers import mixtures as m
from ..layers.blocks import Heads, grouped_attention
from ..layers.decoders import Decoder, mixed
from ..layers.layer_kinds import mlps, side_by_side
from ..layers.windows import windows
from ..trees import Component, Dim, Linear, ModelConfig, Module, Weight


def _attention(d: Decoder, c: ModelConfig, query: Dim) -> Module:
    h = d.width(c)
    kv = c.dim("num_key_value_heads", default=8)
    heads = Heads(query, kv, c.dim("head_dim", default=128))
    per_head = c.raw("gating") in (None, True, "per-head")
    width = heads.query if per_head else heads.query * heads.dim
    norm = d.norm(d, c, heads.dim)
    gate = Linear(h, width, bias=False, kind="gate")
    bias = c.flag("attention_bias", default=False)
    block = grouped_attention("LagunaAttention", h, heads, bias=bias)
    return block.adding(q_norm=norm, k_norm=norm, g_proj=gate)


def _heads(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[Dim]:
    key = "num_attention_heads_per_layer"
    usual = c.dim("num_attention_heads", default=48)
    return c.dims(key, count=layers) if c.has(key) else [usual] * layers


Decoder(
    "Laguna",
    rotary=False,
    tasks=(),
    kinds=side_by_side(_heads, mlps()),
    layer=lambda d, c, kind: mixed(d, c, _attention(d, c, kind[0]), kind),
    moe=m.sparse(
        "SparseMoeBlock",
        # Every token reads the whole bias, whatever experts serve it.
        {
            "experts": lambda x: m.each(x).adding(
                e_score_correction_bias=Weight(x.count, component=Component.ROUTER, active=(1, 1))
            ),
            "gate": m.scores(),
            "shared_expert": m.always,
        },
        count=m.counts("num_experts", default=256),
        used=8,
        inner=512,
        shared=m.as_wide("shared_expert_intermediate_size", default=512),
    ),
    windows=lambda c: windows(c, 512, lambda _i, _n: True),
).register("laguna")
