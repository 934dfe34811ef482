"""ZAYA1 (Zyphra 2025). Source of shapes: transformers/models/zaya/modeling_zaya.py.

Attention after two convolutions over q and k (compressed convolutional attention), values half
delayed by a token; scales and biases on both sides of every residual; a router that is an MLP with
one class more than there are experts.  Experts lie stacked in memory as in files.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.heads import causal_lm
from ..trees.catalog import register_pair
from ..trees.keeps import KeysValues, State
from ..trees.modules import Buffer, Conv, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, size: int) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-5), class_name="ZayaRMSNorm")


def attention(c: ModelConfig) -> Module:
    h, bias = _hidden(c), c.flag("attention_bias", default=False)
    heads, kv = (
        c.dim("num_attention_heads", default=8),
        c.dim("num_key_value_heads", default=2),
    )
    dim = c.dim("head_dim", default=128)
    width, kv_width = heads * dim, kv * dim
    channels = kv_width + width
    # Two convolutions in a row: the inputs that both look back on, less the token itself.
    times = c.dim("cca_time0", default=2) + c.dim("cca_time1", default=2) - 2
    return Module(
        "ZayaAttention",
        o_proj=Linear(width, h, bias=bias, kind="output"),
        qkv_proj=Module(
            "ZayaCCAProjection",
            q_proj=Linear(h, width, bias=bias, kind="query"),
            k_proj=Linear(h, kv_width, bias=bias, kind="key"),
            v_proj_current=Linear(h, kv_width // 2, bias=bias, kind="value"),
            v_proj_delayed=Linear(h, kv_width // 2, bias=bias, kind="value"),
            conv_qk_depthwise=Conv(
                channels, channels, c.dim("cca_time0", default=2), dims=1, groups=channels,
            ),
            conv_qk_grouped=Conv(
                channels, channels, c.dim("cca_time1", default=2), dims=1, groups=kv + heads,
            ),
        ),
        qk_norm=Module("ZayaQKNorm", temp=Weight(kv), component=Component.NORM),
        component=Component.ATTENTION,
        keeps=(
            KeysValues(kv_width, kv_width, heads=kv),
            State("conv", (channels, times)),
            # The value of the token before.
            State("recurrent", (kv_width // 2,)),
        ),
    )  # fmt: skip


def router(c: ModelConfig, *, first: bool) -> Module:
    """All but the first layer's router also see the one before it."""
    width = c.dim("router_hidden_size", default=256)
    classes = c.count("num_experts", default=16, minimum=1) + 1
    return Module(
        "ZayaRouter",
        down_proj=Linear(_hidden(c), width),
        router_states_scale=None if first else Weight(width),
        router_mlp=Module(
            "ZayaRouterMLP",
            norm=_norm(c, width),
            fc1=Linear(width, width),
            fc2=Linear(width, width),
            out_proj=Linear(width, classes, bias=False),
        ),
        balancing_biases=Buffer(classes, dtype="F32"),
        component=Component.ROUTER,
    )


def sparse(c: ModelConfig, *, first: bool) -> Module:
    h, inner = _hidden(c), c.dim("moe_intermediate_size", default=2048)
    count = c.count("num_experts", default=16, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=1)
    return Module(
        "ZayaSparseMoeBlock",
        gate=router(c, first=first),
        experts=Module(
            "ZayaExperts",
            gate_up_proj=Weight(count, inner * 2, h),
            down_proj=Weight(count, h, inner),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        component=Component.MLP,
    )


def scaling(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "ZayaResidualScaling",
        hidden_states_scale=Weight(h, kind="scale"),
        hidden_states_bias=Weight(h, kind="scale"),
        residual_scale=Weight(h, kind="scale"),
        residual_bias=Weight(h, kind="scale"),
    )


def layer(c: ModelConfig, *, first: bool) -> Module:
    h = _hidden(c)
    return Module(
        "ZayaDecoderLayer",
        self_attn=attention(c),
        mlp=sparse(c, first=first),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
        post_attention_residual_scale=scaling(c),
        post_mlp_residual_scale=scaling(c),
    )


def model(c: ModelConfig) -> Module:
    h, count = _hidden(c), int(c.count("num_hidden_layers", default=40))
    rest = layer(c, first=False)
    return Module(
        "ZayaModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=262272), h),
        layers=Layers([layer(c, first=True), *[rest] * (count - 1)] if count else []),
        norm=_norm(c, h),
        input_hidden_states_scale=Weight(h, kind="scale"),
        input_hidden_states_bias=Weight(h, kind="scale"),
    )


def causal(c: ModelConfig) -> Module:
    bias = c.flag("lm_head_bias", default=False)
    return causal_lm("ZayaForCausalLM", model, bias=bias, tied_default=True)(c)


register_pair("zaya", "Zaya", causal, model, "text decoder", ending="ForCausalLM")
