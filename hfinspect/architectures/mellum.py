"""Mellum 2 (JetBrains 2026). Source of shapes: transformers/models/mellum.

Qwen3-MoE's block; ``mlp_layer_types`` says which layers are dense.
"""

from ..core.config import ModelConfig
from ..layers.decoders import Decoder
from ..layers.experts import sparse_block
from ..layers.latent_decoders import listed_kinds
from ..layers.windows import windows
from ..trees.modules import Module
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    return sparse_block(
        "Mellum",
        d.width(c),
        c.dim("moe_intermediate_size", default=896),
        count=c.count("num_experts", "num_local_experts", default=64),
        per_token=c.dim("num_experts_per_tok", default=8),
        shared=None,
        act=d.act(c),
    )


LLAMA.like(
    "Mellum", vocab_size=98304, hidden_size=2304, intermediate_size=7168, num_hidden_layers=28,
    num_key_value_heads=4, head_dim=128, mlp_bias=None, qk_norm=True, rotary=False, endings=(),
    moe=_moe, kinds=lambda _d, c, layers: listed_kinds(c, layers, lambda _: "sparse"),
    windows=lambda c: windows(c, 1024, lambda _i, _n: True),
).register("mellum")  # fmt: skip
