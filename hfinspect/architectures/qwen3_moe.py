"""Qwen3-MoE (Qwen team 2025). Source of shapes: transformers/models/qwen3_moe.

Qwen3's attention with per-head norms on q and k; routed experts without a shared one, dense in the
layers of ``mlp_only_layers`` and off the ``decoder_sparse_step``.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import sparse_block, sparse_layers
from ..layers.heads import decoder_classes
from ..layers.windows import switched_windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, size: int) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-6), class_name="Qwen3MoeRMSNorm")


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", "num_local_experts", default=128)


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=4)
    return grouped_attention(
        "Qwen3MoeAttention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )


def sparse(c: ModelConfig) -> Module:
    return sparse_block(
        "Qwen3Moe",
        _hidden(c),
        c.dim("moe_intermediate_size", default=768),
        count=_experts(c),
        per_token=c.dim("num_experts_per_tok", default=8),
        shared=None,
        act=c.text("hidden_act", default="silu"),
    )


def dense(c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size", default=6144)
    return gated_mlp("Qwen3MoeMLP", _hidden(c), inner, act=c.text("hidden_act", default="silu"))


def layer(c: ModelConfig, mlp: Module) -> Module:
    return Module(
        "Qwen3MoeDecoderLayer",
        self_attn=attention(c),
        mlp=mlp,
        input_layernorm=_norm(c, _hidden(c)),
        post_attention_layernorm=_norm(c, _hidden(c)),
    )


def model(c: ModelConfig) -> Module:
    routed = sparse_layers(c, int(c.count("num_hidden_layers", default=24)), _experts(c))
    kinds = {True: layer(c, sparse(c)), False: layer(c, dense(c))}
    return Module(
        "Qwen3MoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=151936), _hidden(c)),
        layers=Layers(
            (kinds[is_routed] for is_routed in routed),
            windows=switched_windows(c, 4096, 0),
        ),
        norm=_norm(c, _hidden(c)),
    )


register(
    "qwen3_moe",
    decoder_classes("Qwen3Moe", model, hidden=_hidden, qa_prefix="transformer"),
    base="Qwen3MoeModel",
    base_prefix="model",
    category="text decoder",
)
