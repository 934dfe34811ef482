"""MiniMax-M2 (MiniMax 2025). Source of shapes: transformers/models/minimax_m2.

Norms over the whole of q and of k; Mixtral's expert layout with a correction bias next to the
router, a buffer in float32.
"""

from __future__ import annotations

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.experts import experts, router
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, Parameter, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=3072)


def _norm(c: ModelConfig, size: int) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(size, eps=eps, class_name="MiniMaxM2RMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=48, kv=8, head_dim=128)
    return grouped_attention(
        "MiniMaxM2Attention",
        h,
        heads,
        norms=lambda: {
            "q_norm": _norm(c, heads.query * heads.dim),
            "k_norm": _norm(c, heads.kv * heads.dim),
        },
    )


def sparse(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=1536)
    count = c.count("num_local_experts", "num_experts", default=256)
    expert = Module(
        "MiniMaxM2MLP",
        w1=Linear(h, inner, bias=False),
        w2=Linear(inner, h, bias=False),
        w3=Linear(h, inner, bias=False),
        act_fn=activation(c.text("hidden_act", default="silu")),
    )
    return Module(
        "MiniMaxM2SparseMoeBlock",
        e_score_correction_bias=Parameter(
            (count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER
        ),
        gate=router("MiniMaxM2TopKRouter", h, count),
        experts=experts(count, c.dim("num_experts_per_tok", default=8), expert),
        component=Component.MLP,
    )


def layer(c: ModelConfig) -> Module:
    return Module(
        "MiniMaxM2DecoderLayer",
        self_attn=attention(c),
        block_sparse_moe=sparse(c),
        input_layernorm=_norm(c, _hidden(c)),
        post_attention_layernorm=_norm(c, _hidden(c)),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "MiniMaxM2Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=200064), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=62), layer(c)),
        norm=_norm(c, _hidden(c)),
    )


register(
    "minimax_m2",
    decoder_classes("MiniMaxM2", model, heads=()),
    base="MiniMaxM2Model",
    base_prefix="model",
    category="text decoder",
)
