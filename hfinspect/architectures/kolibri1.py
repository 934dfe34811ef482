"""Kolibri 1 (2026). Source of shapes: transformers/models/kolibri1; names of files:
transformers/conversion_mapping.py.

Norms on q and k, norms before and after each block; one shared and many routed experts in every
layer.  Files keep the router's correction bias, a buffer, apart from the router.
"""

from __future__ import annotations

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.experts import routed_and_shared, router
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, Parameter, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig, size: int) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(size, eps=eps, class_name="Kolibri1RMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=48, kv=4, head_dim=128)
    count = c.count("num_experts", "num_local_experts", default=384)
    bias = Parameter((count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER)
    return Module(
        "Kolibri1DecoderLayer",
        self_attn=grouped_attention(
            "Kolibri1Attention",
            h,
            heads,
            norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
        ),
        mlp=routed_and_shared(
            "Kolibri1",
            h,
            c.dim("moe_intermediate_size", default=512),
            count=count,
            per_token=c.dim("num_experts_per_tok", default=6),
            shared=c.dim("shared_expert_intermediate_size", default=512),
            gate=router("Kolibri1TopKRouter", h, count),
            act=c.text("hidden_act", default="silu"),
            class_name="Kolibri1SparseMoeBlock",
        ),
        moe=Module("Kolibri1SparseMoeBlock", router=Module("Kolibri1TopKRouter", expert_bias=bias)),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
        post_attn_norm=_norm(c, h),
        post_ffn_norm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Kolibri1Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=128000), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=50), layer(c), windows=windows(c, 513, every(5))
        ),
        norm=_norm(c, _hidden(c)),
    )


register(
    "kolibri1",
    decoder_classes("Kolibri1", model, heads=()),
    base="Kolibri1Model",
    base_prefix="model",
    category="text decoder",
)
