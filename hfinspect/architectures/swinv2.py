"""Swin v2 (Liu et al. 2021b). Source of shapes: transformers/models/swinv2/modeling_swinv2.py.

Swin with cosine attention (a learned scale per head), a small MLP that computes the bias of
relative positions, no bias on the keys, and norms after attention and MLP.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.modules import Activation, Linear, Module, Sequential, Weight
from .swin import register_swin


def cosine_attention(c: ModelConfig, width: Dim, heads: Dim, *, name: str = "Swinv2") -> Module:
    bias = c.flag("qkv_bias", default=True)
    c.divided(width, heads, "width of the stage", "num_heads")
    return Module(
        f"{name}SelfAttention",
        logit_scale=Weight(heads, 1, 1, kind="scale"),
        continuous_position_bias_mlp=Sequential(
            Linear(2, 512), Activation("ReLU"), Linear(512, heads, bias=False),
            kind="relative_position",
        ),
        query=Linear(width, width, bias=bias, kind="query"),
        key=Linear(width, width, bias=False, kind="key"),
        value=Linear(width, width, bias=bias, kind="value"),
    )  # fmt: skip


register_swin("Swinv2", "swinv2", cosine_attention, second=True)
