"""Qwen3-VL-MoE (Qwen team 2025). Source: transformers/models/qwen3_vl_moe.

Qwen3-VL with routed experts. Files hold the experts of a layer fused, as one 3-D tensor for gate
and up and one for down; a fresh save has them out before in (E, 2·I, H), the first release of the
weights in before out (E, H, 2·I), and loading takes both (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder
from ..layers.experts import router, sparse_kinds
from ..trees.modules import Activation, Module, Weight
from .qwen3_vl import TEXT, register_qwen3_vl


def _sparse(d: Decoder, c: ModelConfig) -> Module:
    """3·E·H·I expert weights, of which k in E serve a token."""
    h, inner, count = d.width(c), c.dim("moe_intermediate_size", default=1408), _experts(c)
    used = (min(int(c.dim("num_experts_per_tok", default=4)), int(count)), int(count))
    return Module(
        "Qwen3VLMoeTextSparseMoeBlock",
        experts=Module(
            "Qwen3VLMoeTextExperts",
            gate_up_proj=Weight(count, 2 * inner, h, kind="expert", active=used),
            down_proj=Weight(count, h, inner, kind="expert", active=used),
            act_fn=Activation("SiLU"),
        ),
        gate=router("Qwen3VLMoeTextTopKRouter", h, count),
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
