"""Conformer layers (Gulati et al. 2020): attention with relative positions and a convolution
between two halves of an MLP, in the two spellings that files have: NeMo's and wav2vec 2.0's.

Source: transformers/models/{parakeet,granite_speech5,fastspeech2_conformer,wav2vec2_conformer,
wav2vec2_bert}.
"""

from __future__ import annotations

from typing import Any

from ..trees import Component, Dim, ModelConfig
from ..trees import modules as nn
from . import speech
from .blocks import activation, grouped_attention, grouped_heads, two_layer_mlp
from .encoders import hidden


def relative_attention(
    class_name: str,
    h: int,
    heads: int,
    size: int,
    *,
    relative: bool = True,
    dropout: float | None = None,
) -> nn.Module:
    """Four projections of H·H + H; with ``relative`` a fifth of the positions, without a bias, and
    two biases a head for them (Dai et al. 2019, Transformer-XL)."""
    kind = "relative_position"
    bias = nn.Weight(heads, size, kind=kind) if relative else None
    return nn.Module(
        class_name,
        pos_bias_u=bias,
        pos_bias_v=bias,
        linear_q=nn.Linear(h, h, kind="query"),
        linear_k=nn.Linear(h, h, kind="key"),
        linear_v=nn.Linear(h, h, kind="value"),
        linear_out=nn.Linear(h, h, kind="output"),
        dropout=None if dropout is None else nn.Dropout(dropout),
        linear_pos=nn.Linear(h, h, bias=False, kind=kind) if relative else None,
        component=Component.ATTENTION,
    )


# ---- NeMo's


#: Names of an MLP's matrices and of what stands between.
MLP: dict[str, Any] = {"names": ("linear1", "linear2"), "act_name": "activation"}


def convolution(
    class_name: str, h: int, kernel: int, norm: nn.Module, *, act: str | None, bias: bool
) -> nn.Module:
    """Pointwise, depthwise, pointwise: 3·H² + H·k weights, and a norm."""
    return nn.Module(
        class_name,
        activation=activation(act),
        pointwise_conv1=nn.Conv(h, 2 * h, 1, dims=1, bias=bias),
        depthwise_conv=nn.Conv(h, h, kernel, dims=1, groups=h, bias=bias),
        norm=norm,
        pointwise_conv2=nn.Conv(h, h, 1, dims=1, bias=bias),
        component=Component.CONV,
    )


def subsampling(
    channels: int, kernel: int, times: int, stride: int = 2, *, class_name: str = "ModuleList"
) -> nn.Module:
    """Strided 2-D convolutions over mel features, all but the first depthwise and pointwise."""
    steps: list[nn.Module] = [nn.Conv(1, channels, kernel, stride=stride), nn.Activation("ReLU")]
    for _ in range(times - 1):
        steps += [
            nn.Conv(channels, channels, kernel, stride=stride, groups=channels),
            nn.Conv(channels, channels, 1),
            nn.Activation("ReLU"),
        ]
    return nn.ModuleList(steps, class_name=class_name)


def fast_layer(c: ModelConfig, norm: nn.Module | None = None) -> nn.Module:
    """One of Parakeet's; ``norm`` stands in the convolution, in place of a batch norm."""
    h = hidden(c)
    act = c.text("hidden_act")
    name = "ParakeetEncoder"
    kind = "relative_position"
    bias = c.flag("attention_bias", default=True)
    heads = grouped_heads(c, h)
    if not c.has("head_dim"):
        c.divided(h, heads.query, "hidden_size", "num_attention_heads")
    sides = dict.fromkeys(("bias_u", "bias_v"), nn.Weight(heads.query, heads.dim, kind=kind))
    attention = grouped_attention(f"{name}Attention", h, heads, bias=bias)
    relative = nn.Linear(h, heads.query * heads.dim, bias=False, kind=kind)
    attention.children = {**sides, **attention.children, "relative_k_proj": relative}
    attention.cache = None
    inner = c.dim("intermediate_size")
    feeds = two_layer_mlp(f"{name}FeedForward", h, inner, act=act, bias=bias, **MLP)
    mixer = convolution(
        f"{name}ConvolutionModule",
        h,
        c.dim("conv_kernel_size"),
        norm or nn.BatchNorm(h, dims=1),
        act=act,
        bias=c.flag("convolution_bias", default=True),
    )
    parts = {"feed_forward1": feeds, "self_attn": attention, "conv": mixer}
    places = ("feed_forward1", "self_att", "conv", "feed_forward2", "out")
    norms = {f"norm_{place}": nn.LayerNorm(h) for place in places}
    return nn.Module(f"{name}Block", {**parts, "feed_forward2": feeds, **norms})


def fast_encoder(c: ModelConfig, steps: nn.Module, block: nn.Module) -> nn.Module:
    """Parakeet's encoder of ``steps`` that thin out the frames and layers like ``block``."""
    places = nn.Activation("ParakeetEncoderRelPositionalEncoding")
    layers = nn.Layers.of(c.count("num_hidden_layers"), block)
    parts = {"subsampling": steps, "encode_positions": places, "layers": layers}
    return nn.Module("ParakeetEncoder", parts, part="audio")


# ---- wav2vec 2.0's


def speech_convolution(c: ModelConfig, name: str, **norm: nn.Module) -> nn.Module:
    """The same without biases behind a norm of its own; ``norm`` stands behind the depthwise."""
    h = hidden(c)
    kernel = c.dim("conv_depthwise_kernel_size", default=31)
    return nn.Module(
        f"{name}ConvolutionModule",
        {
            "layer_norm": speech.norm(c),
            "pointwise_conv1": nn.Conv(h, 2 * h, 1, dims=1, bias=False),
            "glu": nn.Activation("GLU", "dim=1"),
            "depthwise_conv": nn.Conv(h, h, kernel, dims=1, groups=h, bias=False),
            **norm,
            "pointwise_conv2": nn.Conv(h, h, 1, dims=1, bias=False),
        },
        component=Component.CONV,
    )


def speech_attention(
    c: ModelConfig, name: str, width: Dim, *, relative: bool, dropout: float
) -> nn.Module:
    """Relative attention in a layer of that ``width``; ``dropout`` is the default of its rate."""
    heads = c.dim("num_attention_heads")
    rate = c.number("attention_dropout", default=dropout)
    size = c.divided(width, heads, "the layer's width", "num_attention_heads")
    return relative_attention(
        f"{name}SelfAttention", width, heads, size, relative=relative, dropout=rate
    )


def speech_block(c: ModelConfig, name: str, conv: nn.Module, **attention: nn.Module) -> nn.Module:
    """Half an MLP, attention, the convolution, half an MLP, with norms before."""
    return nn.Module(
        f"{name}EncoderLayer",
        {
            "ffn1_layer_norm": speech.norm(c),
            "ffn1": speech.feed_forward(c, name),
            "self_attn_layer_norm": speech.norm(c),
            **attention,
            "conv_module": conv,
            "ffn2_layer_norm": speech.norm(c),
            "ffn2": speech.feed_forward(c, name),
            "final_layer_norm": speech.norm(c),
        },
    )
