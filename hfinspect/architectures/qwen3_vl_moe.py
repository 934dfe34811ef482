"""Qwen3-VL-MoE (Qwen team 2025). Source: transformers/models/qwen3_vl_moe.

Files hold the experts of a layer stacked, out before in; the first release of the weights in before
out, and loading takes both (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder
from ..layers.experts import router, sparse_kinds, stacked_experts
from ..trees.modules import Activation, Module
from .qwen3_vl import TEXT, register_qwen3_vl


def _sparse(d: Decoder, c: ModelConfig) -> Module:
    h, inner, count = d.width(c), c.dim("moe_intermediate_size", default=1408), _experts(c)
    per_token = c.dim("num_experts_per_tok", default=4)
    experts = stacked_experts(f"{d.name}Experts", count, per_token, h, inner)
    gate = router(f"{d.name}TopKRouter", h, count)
    return Module(
        f"{d.name}SparseMoeBlock",
        experts=experts.adding(act_fn=Activation("SiLU")),
        gate=gate,
        component=Component.MLP,
    )


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", "num_local_experts", default=60)


_TEXT = TEXT.like(
    "Qwen3VLMoeText", hidden_size=2048, intermediate_size=5632, num_hidden_layers=24,
    num_attention_heads=16, num_key_value_heads=16, head_dim=None, moe=_sparse,
    kinds=lambda _d, c, layers: sparse_kinds(c, layers, _experts(c)),
)  # fmt: skip

register_qwen3_vl("Qwen3VLMoe", "qwen3_vl_moe", _TEXT)
