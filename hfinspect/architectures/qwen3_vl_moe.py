"""Qwen3-VL-MoE (Qwen team 2025). Source: transformers/models/qwen3_vl_moe.

Qwen3-VL with routed experts. Files hold the experts of a layer fused, as one 3-D tensor for gate
and up and one for down; a fresh save has them out before in (E, 2·I, H), the first release of the
weights in before out (E, H, 2·I), and loading takes both (conversion_mapping.py).
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import router, sparse_layers
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm, Weight
from .qwen3_vl import register_qwen3_vl


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, size: Dim) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(size, eps=eps, class_name="Qwen3VLMoeTextRMSNorm")


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", "num_local_experts", default=60)


def sparse(c: ModelConfig) -> Module:
    """3·E·H·I expert weights, of which k in E serve a token."""
    h, inner, count = _hidden(c), c.dim("moe_intermediate_size", default=1408), _experts(c)
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


def layer(c: ModelConfig, mlp: Module) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=16, kv=16)
    return Module(
        "Qwen3VLMoeTextDecoderLayer",
        self_attn=grouped_attention(
            "Qwen3VLMoeTextAttention",
            h,
            heads,
            bias=c.flag("attention_bias", default=False),
            norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
        ),
        mlp=mlp,
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def text_model(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=5632)
    dense = gated_mlp("Qwen3VLMoeTextMLP", h, inner, act=c.text("hidden_act", default="silu"))
    kinds = {False: layer(c, dense)}
    if _experts(c):
        kinds[True] = layer(c, sparse(c))
    routed = sparse_layers(c, int(c.count("num_hidden_layers", default=24)), _experts(c))
    return Module(
        "Qwen3VLMoeTextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=151936), h),
        layers=Layers(kinds[is_routed] for is_routed in routed),
        norm=_norm(c, h),
        rotary_emb=Activation("Qwen3VLMoeTextRotaryEmbedding"),
    )


register_qwen3_vl("Qwen3VLMoe", "qwen3_vl_moe", text_model, hidden=2048)
