"""MiniMax-01 (MiniMax 2025). Source of shapes: transformers/models/minimax.

Softmax and lightning (linear) attention by turns; Mixtral's expert layout.  The decays of
lightning attention are buffers that are saved.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import Heads, activation, grouped_attention
from ..layers.composing import without_static_cache
from ..layers.decoders import Decoder, mixed, w_experts
from ..layers.layer_kinds import words
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import Buffer, Linear, Module, RMSNorm
from .llama import LLAMA


def _heads(d: Decoder, c: ModelConfig) -> Heads:
    """A head_dim of 0 means hidden / heads too, as in the model."""
    return d.heads(c.with_values(head_dim=None) if c.raw("head_dim") == 0 else c)


def _lightning(d: Decoder, c: ModelConfig) -> Module:
    h, heads = d.width(c), _heads(d, c)
    width, block = heads.query * heads.dim, c.dim("block_size", default=256)
    return Module(
        "MiniMaxLightningAttention",
        norm=RMSNorm(width, class_name="MiniMaxRMSNorm"),
        qkv_proj=Linear(h, width * 3, bias=False, kind="qkv"),
        out_proj=Linear(width, h, bias=False, kind="output"),
        output_gate=Linear(h, width, bias=False, kind="gate"),
        act_fn=activation(d.act(c)),
        slope_rate=Buffer(heads.query, 1, 1),
        query_decay=Buffer(heads.query, block, 1),
        key_decay=Buffer(heads.query, block, 1),
        diagonal_decay=Buffer(1, heads.query, block, block),
        component=Component.SSM,
        keeps=(State("recurrent", (width, heads.dim)),),
    )


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    linear = kind == "linear_attention"
    mixer = _lightning(d, c) if linear else d.attention(d, c)
    return mixed(d, c, mixer, "sparse", mlp="block_sparse_moe")


_MINIMAX = LLAMA.like(
    "MiniMax", num_key_value_heads=8, intermediate_size=14336, rms_norm_eps=1e-5, layer=_layer,
    rotary=False, qa_prefix=None,
    attention=lambda d, c: grouped_attention("MiniMaxAttention", d.width(c), _heads(d, c)),
    moe=lambda d, c: w_experts(
        d, c, c.count("num_local_experts", "num_experts", default=8),
        c.dim("num_experts_per_tok", default=2),
    ),
    kinds=words(lambda _c, i: "linear_attention" if i % 2 else "full_attention"),
)  # fmt: skip
_CLASSES = without_static_cache(_MINIMAX.classes())
register("minimax", _CLASSES, base_prefix="model", category="text decoder")
