"""Qwen3-MoE (Qwen team 2025). Source of shapes: transformers/models/qwen3_moe.

Qwen3's attention with per-head norms on q and k; routed experts without a shared one, dense in the
layers of ``mlp_only_layers`` and off the ``decoder_sparse_step``.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder
from ..layers.experts import sparse_block, sparse_kinds
from ..layers.windows import switched_windows
from ..trees.modules import Module
from .llama import LLAMA


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", default=128)


def _moe(d: Decoder, c: ModelConfig) -> Module:
    return sparse_block(
        d.name,
        d.width(c),
        c.dim("moe_intermediate_size", default=768),
        count=_experts(c),
        per_token=c.dim("num_experts_per_tok", default=8),
        shared=None,
        act=d.act(c),
    )


QWEN3_MOE = LLAMA.like(
    "Qwen3Moe", vocab_size=151936, hidden_size=2048, intermediate_size=6144, num_hidden_layers=24,
    num_key_value_heads=4, mlp_bias=None, qk_norm=True,
    windows=lambda c: switched_windows(c, 4096, 0), rotary=False, moe=_moe,
    kinds=lambda _d, c, layers: sparse_kinds(c, layers, _experts(c)),
).register("qwen3_moe")  # fmt: skip
