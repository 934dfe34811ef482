"""Laguna (poolside 2026). Source of shapes: transformers/models/laguna.

A decoder whose layers may have heads of their own number, norms on q and k, a gate on the
attention's output and, but for the first, experts with one shared; the router's correction bias,
a parameter here, lies next to the experts in files.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, grouped_attention
from ..layers.decoders import Decoder, gated_of, mixed
from ..layers.experts import experts, router
from ..layers.layer_kinds import mlps, side_by_side
from ..layers.windows import windows
from ..trees.modules import Linear, Module, Weight
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig, query: Dim) -> Module:
    h, kv = d.width(c), c.dim("num_key_value_heads", default=8)
    heads = Heads(query, kv, c.dim("head_dim", default=128))
    block = grouped_attention(
        "LagunaAttention", h, heads, bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": d.norm(d, c, heads.dim), "k_norm": d.norm(d, c, heads.dim)},
    )  # fmt: skip
    per_head = c.raw("gating") in (None, True, "per-head")
    width = heads.query if per_head else heads.query * heads.dim
    block.children["g_proj"] = Linear(h, width, bias=False, kind="gate")
    return block


def _moe(d: Decoder, c: ModelConfig) -> Module:
    h, count = d.width(c), c.count("num_experts", default=256)
    expert = gated_of(d, c, c.dim("moe_intermediate_size", default=512), "expert")
    shared = c.dim("shared_expert_intermediate_size", default=512)
    per_token = c.dim("num_experts_per_tok", default=8)
    listed = experts(count, per_token, expert, class_name="LagunaExperts")
    # Every token reads the whole bias, whatever experts serve it.
    listed.children["e_score_correction_bias"] = Weight(
        count, component=Component.ROUTER, active=(1, 1)
    )
    return Module(
        "LagunaSparseMoeBlock",
        experts=listed,
        gate=router("LagunaTopKRouter", h, count),
        shared_expert=gated_of(d, c, shared, "shared_expert"),
        component=Component.MLP,
    )


def heads_per_layer(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[Dim]:
    key = "num_attention_heads_per_layer"
    if not c.has(key):
        return [c.dim("num_attention_heads", default=48)] * layers
    return c.dims(key, count=layers)


LLAMA.like(
    "Laguna", vocab_size=100352, hidden_size=2048, intermediate_size=8192, num_hidden_layers=40,
    num_attention_heads=48, num_key_value_heads=8, head_dim=128, mlp_bias=None, rotary=False,
    endings=(), moe=_moe, kinds=side_by_side(heads_per_layer, mlps()),
    layer=lambda d, c, kind: mixed(d, c, _attention(d, c, kind[0]), kind[1]),
    windows=lambda c: windows(c, 512, lambda _i, _n: True),
).register("laguna")  # fmt: skip
