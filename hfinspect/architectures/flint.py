"""Flint. Source of shapes: transformers/models/flint/modeling_flint.py.

Attention with norms of queries and keys and a learned sink per head (``softmax_offset`` in files);
experts next to one shared expert, dense MLPs in ``mlp_only_layers``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder, gated_of, grouped
from ..layers.experts import experts, router, sparse_kinds
from ..layers.windows import windows
from ..trees.modules import Module, Weight
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = grouped(d, c)
    block.children["softmax_offset"] = Weight(d.heads(c).query, kind="sink")
    return block


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", default=256)


def _moe(d: Decoder, c: ModelConfig) -> Module:
    count = _experts(c)
    inner = c.dim("moe_intermediate_size", default=512)
    shared = c.dim("shared_expert_intermediate_size", default=1024)
    per_token = c.count("num_experts_per_tok", default=6)
    return Module(
        "FlintSparseMoeBlock",
        experts=experts(count, per_token, gated_of(d, c, inner), class_name="FlintExperts"),
        gate=router("FlintTopKRouter", d.width(c), count),
        shared_expert=gated_of(d, c, shared, "shared_expert"),
        component=Component.MLP,
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    return sparse_kinds(c.with_defaults(mlp_only_layers=[0, 1]), layers, _experts(c))


LLAMA.like(
    "Flint", vocab_size=150144, hidden_size=2048, intermediate_size=6144, num_hidden_layers=49,
    num_key_value_heads=4, head_dim=128, mlp_bias=None, qk_norm=True, endings=(), moe=_moe,
    kinds=_kinds, attention=_attention,
    windows=lambda c: windows(c, 513, lambda i, n: i < 2 or i % 4 == 1 or i == n - 1),
).register("flint")  # fmt: skip
