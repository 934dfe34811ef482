"""Flint. Source of shapes: transformers/models/flint/modeling_flint.py.

Attention with norms of queries and keys and a learned sink per head (``softmax_offset`` in files);
experts next to one shared expert, dense MLPs in ``mlp_only_layers``.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import experts, router, sparse_layers
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-6), class_name="FlintRMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=4, head_dim=128)
    block = grouped_attention(
        "FlintAttention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )
    block.children["softmax_offset"] = Weight(heads.query, kind="sink")
    return block


def mlp(c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    act = c.text("hidden_act", default="silu")
    return gated_mlp("FlintMLP", _hidden(c), inner, act=act, kind=kind)


def moe(c: ModelConfig) -> Module:
    count = _experts(c)
    inner = c.dim("moe_intermediate_size", default=512)
    shared = c.dim("shared_expert_intermediate_size", default=1024)
    per_token = c.count("num_experts_per_tok", default=6)
    return Module(
        "FlintSparseMoeBlock",
        experts=experts(count, per_token, mlp(c, inner), class_name="FlintExperts"),
        gate=router("FlintTopKRouter", _hidden(c), count),
        shared_expert=mlp(c, shared, "shared_expert"),
        component=Component.MLP,
    )


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", default=256)


def layer(c: ModelConfig, *, sparse: bool) -> Module:
    h, dense = _hidden(c), c.dim("intermediate_size", default=6144)
    return Module(
        "FlintDecoderLayer",
        self_attn=attention(c),
        mlp=moe(c) if sparse else mlp(c, dense),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def layers(c: ModelConfig) -> Layers:
    count = int(c.count("num_hidden_layers", default=49))
    kinds = sparse_layers(c.with_defaults(mlp_only_layers=[0, 1]), count, _experts(c))
    built = {kind: layer(c, sparse=kind) for kind in set(kinds)}
    return Layers(
        (built[kind] for kind in kinds),
        windows=windows(c, 513, lambda i, n: i < 2 or i % 4 == 1 or i == n - 1),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "FlintModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=150144), _hidden(c)),
        layers=layers(c),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("FlintRotaryEmbedding"),
    )


register(
    "flint",
    decoder_classes("Flint", model, hidden=_hidden, heads=()),
    base="FlintModel",
    base_prefix="model",
    category="text decoder",
)
