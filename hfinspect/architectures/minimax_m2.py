"""MiniMax-M2 (MiniMax 2025). Source of shapes: transformers/models/minimax_m2.

Norms over the whole of q and of k; Mixtral's expert layout with a correction bias next to the
router, a buffer in float32.
"""

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..layers.decoders import Decoder, block_sparse, w_experts
from ..trees.modules import Module, Parameter
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    count = c.count("num_local_experts", "num_experts", default=256)
    block = w_experts(d, c, count, c.dim("num_experts_per_tok", default=8), expert="MLP")
    correction = Parameter((count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER)
    block.children = {"e_score_correction_bias": correction, **block.children}
    return block


LLAMA.like(
    "MiniMaxM2", vocab_size=200064, hidden_size=3072, intermediate_size=1536, num_hidden_layers=62,
    num_attention_heads=48, num_key_value_heads=8, head_dim=128, attention_bias=None, mlp_bias=None,
    qk_norm=True, whole_norm=True, rotary=False, endings=(), moe=_moe, layer=block_sparse,
).register("minimax_m2")  # fmt: skip
