"""Jamba (AI21 2024). Source of shapes: transformers/models/jamba/modeling_jamba.py.

One layer in ``attn_layer_period`` attends, the others have a Mamba mixer with norms of the time
step and of B and C; one in ``expert_layer_period`` has experts in place of its MLP.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import activation, gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import experts, router
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import Conv, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, width: Dim) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(width, eps=eps, class_name="JambaRMSNorm")


def time_step_rank(c: ModelConfig) -> Dim:
    """``auto`` is hidden_size / 16, rounded up."""
    if c.raw("mamba_dt_rank") in (None, "auto"):
        return named(-(-int(_hidden(c)) // 16), "mamba_dt_rank", "hidden_size / 16, rounded up")
    return c.dim("mamba_dt_rank")


def mixer(c: ModelConfig) -> Module:
    h, rank = _hidden(c), time_step_rank(c)
    inner = c.dim("mamba_expand", default=2) * h
    state = c.dim("mamba_d_state", default=16)
    kernel = c.dim("mamba_d_conv", default=4)
    bias = c.flag("mamba_proj_bias", default=False)
    conv_bias = c.flag("mamba_conv_bias", default=True)
    return Module(
        "JambaMambaMixer",
        A_log=Weight(inner, state),
        D=Weight(inner),
        conv1d=Conv(inner, inner, kernel, dims=1, groups=inner, bias=conv_bias, component=None),
        act=activation(c.text("hidden_act", default="silu")),
        in_proj=Linear(h, inner * 2, bias=bias),
        x_proj=Linear(inner, rank + state * 2, bias=False),
        dt_proj=Linear(rank, inner),
        out_proj=Linear(inner, h, bias=bias),
        dt_layernorm=_norm(c, rank),
        b_layernorm=_norm(c, state),
        c_layernorm=_norm(c, state),
        component=Component.SSM,
        keeps=(State("recurrent", (inner, state), "F32"),),
    )


def mlp(c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size", default=14336)
    return gated_mlp("JambaMLP", _hidden(c), inner, act=c.text("hidden_act", default="silu"))


def moe(c: ModelConfig) -> Module:
    count = _experts(c)
    per_token = c.count("num_experts_per_tok", default=2)
    return Module(
        "JambaSparseMoeBlock",
        router=router("JambaTopKRouter", _hidden(c), count),
        experts=experts(count, per_token, mlp(c), class_name="JambaExperts"),
        component=Component.MLP,
    )


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", "num_local_experts", default=16, minimum=1)


def layer(c: ModelConfig, *, attends: bool, sparse: bool) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=8)
    return Module(
        "JambaAttentionDecoderLayer" if attends else "JambaMambaDecoderLayer",
        self_attn=grouped_attention("JambaAttention", h, heads) if attends else None,
        mamba=None if attends else mixer(c),
        feed_forward=moe(c) if sparse else mlp(c),
        input_layernorm=_norm(c, h),
        pre_ff_layernorm=_norm(c, h),
    )


def layers(c: ModelConfig) -> Layers:
    every = c.dim("attn_layer_period", default=8)
    at = c.dim("attn_layer_offset", default=4, minimum=0)
    sparse_every = c.dim("expert_layer_period", default=2)
    sparse_at = c.dim("expert_layer_offset", default=1, minimum=0)
    several = _experts(c) > 1
    kinds = [
        (i % every == at, several and i % sparse_every == sparse_at)
        for i in range(int(c.count("num_hidden_layers", default=32)))
    ]
    built = {kind: layer(c, attends=kind[0], sparse=kind[1]) for kind in set(kinds)}
    return Layers(built[kind] for kind in kinds)


def model(c: ModelConfig) -> Module:
    return Module(
        "JambaModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=65536), _hidden(c)),
        layers=layers(c),
        final_layernorm=_norm(c, _hidden(c)),
    )


register(
    "jamba",
    decoder_classes("Jamba", model, hidden=_hidden, heads=("ForSequenceClassification",)),
    base="JambaModel",
    base_prefix="model",
    category="text decoder",
)
