"""Conformer layers (Gulati et al. 2020): attention with relative positions and a convolution
between two halves of an MLP, in the two spellings that files have: NeMo's and wav2vec 2.0's.

Source: transformers/models/{parakeet,granite_speech5,fastspeech2_conformer,wav2vec2_conformer,
wav2vec2_bert}.
"""

from __future__ import annotations

from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.modules import Activation, Conv, Dropout, Linear, Module, ModuleList, Weight
from . import speech
from .blocks import activation
from .encoders import hidden


def relative_attention(
    class_name: str, h: int, heads: int, size: int, *, relative: bool = True,
    dropout: float | None = None,
) -> Module:  # fmt: skip
    """Four projections of H·H + H; with ``relative`` a fifth of the positions, without a bias, and
    two biases a head for them (Dai et al. 2019, Transformer-XL)."""
    kind = "relative_position"
    bias = Weight(heads, size, kind=kind) if relative else None
    return Module(
        class_name,
        pos_bias_u=bias,
        pos_bias_v=bias,
        linear_q=Linear(h, h, kind="query"),
        linear_k=Linear(h, h, kind="key"),
        linear_v=Linear(h, h, kind="value"),
        linear_out=Linear(h, h, kind="output"),
        dropout=None if dropout is None else Dropout(dropout),
        linear_pos=Linear(h, h, bias=False, kind=kind) if relative else None,
        component=Component.ATTENTION,
    )


# ---- NeMo's


#: Names of an MLP's matrices and of what stands between.
MLP: dict[str, Any] = {"names": ("linear1", "linear2"), "act_name": "activation"}


def convolution(
    class_name: str, h: int, kernel: int, norm: Module, *, act: str | None, bias: bool
) -> Module:
    """Pointwise, depthwise, pointwise: 3·H² + H·k weights, and a norm."""
    return Module(
        class_name,
        activation=activation(act),
        pointwise_conv1=Conv(h, 2 * h, 1, dims=1, bias=bias),
        depthwise_conv=Conv(h, h, kernel, dims=1, groups=h, bias=bias),
        norm=norm,
        pointwise_conv2=Conv(h, h, 1, dims=1, bias=bias),
        component=Component.CONV,
    )


def subsampling(
    channels: int, kernel: int, times: int, stride: int = 2, *, class_name: str = "ModuleList"
) -> Module:
    """Strided 2-D convolutions over mel features, all but the first depthwise and pointwise."""
    steps: list[Module] = [Conv(1, channels, kernel, stride=stride), Activation("ReLU")]
    for _ in range(times - 1):
        steps += [
            Conv(channels, channels, kernel, stride=stride, groups=channels),
            Conv(channels, channels, 1),
            Activation("ReLU"),
        ]
    return ModuleList(steps, class_name=class_name)


# ---- wav2vec 2.0's


def speech_convolution(c: ModelConfig, name: str, **norm: Module) -> Module:
    """The same without biases behind a norm of its own; ``norm`` stands behind the depthwise."""
    h, kernel = hidden(c), c.dim("conv_depthwise_kernel_size", default=31)
    return Module(
        f"{name}ConvolutionModule",
        {
            "layer_norm": speech.norm(c),
            "pointwise_conv1": Conv(h, 2 * h, 1, dims=1, bias=False),
            "glu": Activation("GLU", "dim=1"),
            "depthwise_conv": Conv(h, h, kernel, dims=1, groups=h, bias=False),
            **norm,
            "pointwise_conv2": Conv(h, h, 1, dims=1, bias=False),
        },
        component=Component.CONV,
    )


def speech_attention(
    c: ModelConfig, name: str, width: Dim, *, relative: bool, dropout: float
) -> Module:
    """Relative attention in a layer of that ``width``; ``dropout`` is the default of its rate."""
    heads, rate = c.dim("num_attention_heads"), c.number("attention_dropout", default=dropout)
    size = c.divided(width, heads, "the layer's width", "num_attention_heads")
    return relative_attention(
        f"{name}SelfAttention", width, heads, size, relative=relative, dropout=rate
    )


def speech_block(c: ModelConfig, name: str, conv: Module, **attention: Module) -> Module:
    """Half an MLP, attention, the convolution, half an MLP, with norms before."""
    return Module(
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
