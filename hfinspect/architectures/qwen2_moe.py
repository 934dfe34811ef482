"""Qwen1.5-MoE and Qwen2-MoE (Qwen team 2024). Source: transformers/models/qwen2_moe.

A decoder with biased q, k, v; its MLP is routed experts next to one shared expert behind a gate,
or a dense one in the layers of ``mlp_only_layers`` and off the ``decoder_sparse_step``.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import sparse_block, sparse_layers
from ..layers.heads import decoder_classes
from ..layers.windows import nowhere, windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm, Windows


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="Qwen2MoeRMSNorm"
    )


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", default=60)


def sparse(c: ModelConfig) -> Module:
    return sparse_block(
        "Qwen2Moe",
        _hidden(c),
        c.dim("moe_intermediate_size", default=1408),
        count=_experts(c),
        per_token=c.dim("num_experts_per_tok", default=4),
        shared=c.dim("shared_expert_intermediate_size", default=5632),
        act=c.text("hidden_act", default="silu"),
    )


def dense(c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size", default=5632)
    return gated_mlp("Qwen2MoeMLP", _hidden(c), inner, act=c.text("hidden_act", default="silu"))


def layer(c: ModelConfig, mlp: Module) -> Module:
    h = _hidden(c)
    bias = c.flag("qkv_bias", default=True)
    return Module(
        "Qwen2MoeDecoderLayer",
        self_attn=grouped_attention(
            "Qwen2MoeAttention", h, grouped_heads(c, h, heads=16, kv=16), bias=bias, out_bias=False
        ),
        mlp=mlp,
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def _windows(c: ModelConfig) -> Windows:
    """Only with ``use_sliding_window``: every second of the first ``max_window_layers`` layers."""
    if not c.flag("use_sliding_window", default=False):
        return nowhere
    first = int(c.count("max_window_layers", default=28))
    return windows(c, 4096, lambda i, _: i % 2 == 1 or i >= first)


def model(c: ModelConfig) -> Module:
    routed = sparse_layers(c, int(c.count("num_hidden_layers", default=24)), _experts(c))
    kinds = {True: layer(c, sparse(c)), False: layer(c, dense(c))}
    return Module(
        "Qwen2MoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=151936), _hidden(c)),
        layers=Layers((kinds[is_routed] for is_routed in routed), windows=_windows(c)),
        norm=_norm(c),
    )


register(
    "qwen2_moe",
    decoder_classes("Qwen2Moe", model, hidden=_hidden),
    base="Qwen2MoeModel",
    base_prefix="model",
    category="text decoder",
)
