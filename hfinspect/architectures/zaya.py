"""ZAYA1 (Zyphra 2025; transformers/models/zaya): compressed convolutional attention, its values
half delayed by a token; the router has one class more than there are experts."""

from functools import partial

from ..layers import mixtures as m
from ..layers.blocks import depthwise
from ..layers.decoders import Decoder, pre_norm
from ..trees import Component, KeysValues, ModelConfig, State
from ..trees.modules import Buffer, Conv, Linear, Module, Parameter, Weight


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    bias = c.flag("attention_bias", default=False)
    heads = c.dim("num_attention_heads", default=8)
    kv = c.dim("num_key_value_heads", default=2)
    dim = c.dim("head_dim", default=128)
    width = heads * dim
    kv_width = kv * dim
    channels = kv_width + width
    half = Linear(h, kv_width // 2, bias=bias, kind="value")
    first = c.dim("cca_time0", default=2)
    second = c.dim("cca_time1", default=2)
    return Module(
        "ZayaAttention",
        o_proj=Linear(width, h, bias=bias, kind="output"),
        qkv_proj=Module(
            "ZayaCCAProjection",
            q_proj=Linear(h, width, bias=bias, kind="query"),
            k_proj=Linear(h, kv_width, bias=bias, kind="key"),
            v_proj_current=half,
            v_proj_delayed=half,
            conv_qk_depthwise=depthwise(channels, first, bias=True, component=Component.CONV),
            conv_qk_grouped=Conv(channels, channels, second, dims=1, groups=kv + heads),
        ),
        qk_norm=Module("ZayaQKNorm", temp=Weight(kv), component=Component.NORM),
        component=Component.ATTENTION,
        cache=(
            KeysValues(kv_width, kv_width, heads=kv),
            # The inputs that both convolutions look back on, less the token itself.
            State("conv", (channels, first + second - 2)),
            # The value of the token before.
            State("recurrent", (kv_width // 2,)),
        ),
    )


def _router(x: m.Mixture, *, first: bool) -> Module:
    """All but the first layer's router also see the one before it."""
    width = x.c.dim("router_hidden_size", default=256)
    classes = x.count + 1
    return Module(
        "ZayaRouter",
        down_proj=Linear(x.width, width),
        router_states_scale=None if first else Weight(width),
        router_mlp=Module(
            "ZayaRouterMLP",
            norm=x.d.norm(x.d, x.c, width),
            fc1=Linear(width, width),
            fc2=Linear(width, width),
            out_proj=Linear(width, classes, bias=False),
        ),
        balancing_biases=Buffer(classes, dtype="F32"),
        component=Component.ROUTER,
    )


def _scales(d: Decoder, c: ModelConfig, *names: str) -> dict[str, Parameter]:
    return {name: Weight(d.width(c), kind="scale") for name in names}


_IN = ("hidden_states_scale", "hidden_states_bias")


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    count = m.counts("num_experts", default=16, minimum=1)
    parts: dict[str, m.MixturePart] = {
        "gate": partial(_router, first=kind == "first"),
        "experts": m.stacked(),
    }
    moe = m.sparse("SparseMoeBlock", parts, count=count, used=1, inner=2048)
    scaling = _scales(d, c, *_IN, "residual_scale", "residual_bias")
    scales = Module("ZayaResidualScaling", scaling)
    block = pre_norm(d.like("Zaya", mlp=moe), c, kind)
    return block.adding(post_attention_residual_scale=scales, post_mlp_residual_scale=scales)


Decoder(
    "Zaya",
    attention=_attention,
    layer=_layer,
    rotary=False,
    tasks=(),
    kinds=lambda _d, _c, layers: ["first", *["later"] * (layers - 1)][:layers],
    further=lambda d, c: _scales(d, c, *(f"input_{name}" for name in _IN)),
).register("zaya", bias="lm_head_bias")
