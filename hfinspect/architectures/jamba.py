"""Jamba (AI21 2024). Source of shapes: transformers/models/jamba/modeling_jamba.py.

One layer in ``attn_layer_period`` attends, the others have a Mamba mixer with norms of the time
step and of B and C; one in ``expert_layer_period`` has experts in place of its MLP.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, depthwise
from ..layers.decoders import SEQUENCE_HEAD, Decoder, gated
from ..layers.experts import experts, router
from ..trees.keeps import State
from ..trees.modules import Linear, Module, Weight
from .llama import LLAMA
from .mamba import time_step_rank


def _mixer(d: Decoder, c: ModelConfig) -> Module:
    h, rank = d.width(c), time_step_rank(c, d.width(c), "mamba_dt_rank")
    inner = c.dim("mamba_expand", default=2) * h
    state = c.dim("mamba_d_state", default=16)
    kernel = c.dim("mamba_d_conv", default=4)
    bias = c.flag("mamba_proj_bias", default=False)
    conv_bias = c.flag("mamba_conv_bias", default=True)
    return Module(
        "JambaMambaMixer",
        A_log=Weight(inner, state),
        D=Weight(inner),
        conv1d=depthwise(inner, kernel, bias=conv_bias),
        act=activation(d.act(c)),
        in_proj=Linear(h, inner * 2, bias=bias),
        x_proj=Linear(inner, rank + state * 2, bias=False),
        dt_proj=Linear(rank, inner),
        out_proj=Linear(inner, h, bias=bias),
        dt_layernorm=d.norm(d, c, rank),
        b_layernorm=d.norm(d, c, state),
        c_layernorm=d.norm(d, c, state),
        component=Component.SSM,
        keeps=(State("recurrent", (inner, state), "F32"),),
    )


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", "num_local_experts", default=16, minimum=1)


def _moe(d: Decoder, c: ModelConfig) -> Module:
    count = _experts(c)
    per_token = c.count("num_experts_per_tok", default=2)
    return Module(
        "JambaSparseMoeBlock",
        router=router("JambaTopKRouter", d.width(c), count),
        experts=experts(count, per_token, gated(d, c), class_name="JambaExperts"),
        component=Component.MLP,
    )


def _layer(d: Decoder, c: ModelConfig, kind: tuple[bool, bool]) -> Module:
    attends, sparse = kind
    return Module(
        "JambaAttentionDecoderLayer" if attends else "JambaMambaDecoderLayer",
        self_attn=d.attention(d, c) if attends else None,
        mamba=None if attends else _mixer(d, c),
        feed_forward=_moe(d, c) if sparse else d.mlp(d, c),
        input_layernorm=d.norm(d, c, d.width(c)),
        pre_ff_layernorm=d.norm(d, c, d.width(c)),
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[bool, bool]]:
    """Whether a layer attends, and whether it has experts."""
    every = c.dim("attn_layer_period", default=8)
    at = c.dim("attn_layer_offset", default=4, minimum=0)
    sparse_every = c.dim("expert_layer_period", default=2)
    sparse_at = c.dim("expert_layer_offset", default=1, minimum=0)
    several = _experts(c) > 1
    return [(i % every == at, several and i % sparse_every == sparse_at) for i in range(layers)]


LLAMA.like(
    "Jamba", vocab_size=65536, intermediate_size=14336, num_key_value_heads=8, attention_bias=None,
    mlp_bias=None, layer=_layer, kinds=_kinds, last_norm="final_layernorm", rotary=False,
    endings=SEQUENCE_HEAD,
).register("jamba")  # fmt: skip
