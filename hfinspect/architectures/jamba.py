"""Jamba (AI21 2024). Source of shapes: transformers/models/jamba/modeling_jamba.py.

One layer in ``attn_layer_period`` attends, the others have a Mamba mixer with norms of the time
step and of B and C; one in ``expert_layer_period`` has experts in place of its MLP.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, depthwise
from ..layers.decoders import SEQUENCE_HEAD, Decoder, gated, mixed
from ..layers.experts import experts, router
from ..trees.keeps import State
from ..trees.modules import Linear, Module, Weight
from .llama import LLAMA
from .mamba import time_step_rank


def _mixer(d: Decoder, c: ModelConfig) -> Module:
    h, rank = d.width(c), time_step_rank(c, d.width(c), "mamba_dt_rank")
    inner = c.dim("mamba_expand", default=2) * h
    state, kernel = c.dim("mamba_d_state", default=16), c.dim("mamba_d_conv", default=4)
    bias = c.flag("mamba_proj_bias", default=False)
    return Module(
        "JambaMambaMixer",
        A_log=Weight(inner, state),
        D=Weight(inner),
        conv1d=depthwise(inner, kernel, bias=c.flag("mamba_conv_bias", default=True)),
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
    count, per_token = _experts(c), c.count("num_experts_per_tok", default=2)
    return Module(
        "JambaSparseMoeBlock",
        router=router("JambaTopKRouter", d.width(c), count),
        experts=experts(count, per_token, gated(d, c), class_name="JambaExperts"),
        component=Component.MLP,
    )


def _layer(d: Decoder, c: ModelConfig, kind: tuple[bool, str]) -> Module:
    attends, feeds = kind
    block = mixed(
        d, c, d.attention(d, c) if attends else _mixer(d, c), feeds, mlp="feed_forward",
        self_attn="self_attn" if attends else "mamba", post_attention_layernorm="pre_ff_layernorm",
    )  # fmt: skip
    block.class_name = f"Jamba{'Attention' if attends else 'Mamba'}DecoderLayer"
    return block


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[bool, str]]:
    """Whether a layer attends, and its kind of MLP."""
    every = c.dim("attn_layer_period", default=8)
    at = c.dim("attn_layer_offset", default=4, minimum=0)
    sparse_every = c.dim("expert_layer_period", default=2)
    sparse_at = c.dim("expert_layer_offset", default=1, minimum=0)
    sparse = {i for i in range(layers) if _experts(c) > 1 and i % sparse_every == sparse_at}
    return [(i % every == at, "sparse" if i in sparse else "dense") for i in range(layers)]


LLAMA.like(
    "Jamba", vocab_size=65536, intermediate_size=14336, num_key_value_heads=8, attention_bias=None,
    mlp_bias=None, moe=_moe, layer=_layer, kinds=_kinds, last_norm="final_layernorm", rotary=False,
    endings=SEQUENCE_HEAD,
).register("jamba")  # fmt: skip
