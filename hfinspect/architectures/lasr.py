"""LASR (Google 2025). Source of shapes: transformers/models/lasr.

A Conformer with rotary positions behind two strided convolutions, and a head of characters.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.composing import with_defaults
from ..trees.catalog import auto_model, register_part
from ..trees.modules import Activation, BatchNorm, Conv, LayerNorm, Layers, Linear, Module

_DEFAULTS = {
    "hidden_size": 512, "num_hidden_layers": 17, "num_attention_heads": 8,
    "intermediate_size": 2048, "conv_kernel_size": 32, "subsampling_conv_channels": 256,
    "num_mel_bins": 128, "subsampling_conv_kernel_size": 5, "subsampling_conv_stride": 2,
}  # fmt: skip


def _feed_forward(c: ModelConfig, h: Dim, bias: bool) -> Module:
    inner = c.dim("intermediate_size")
    return Module(
        "LasrEncoderFeedForward",
        linear1=Linear(h, inner, bias=bias, kind="up"),
        activation=activation(c.text("hidden_act", default="silu")),
        linear2=Linear(inner, h, bias=bias, kind="down"),
        component=Component.MLP,
    )


def _convolution(c: ModelConfig, h: Dim) -> Module:
    bias, kernel = c.flag("convolution_bias", default=False), c.dim("conv_kernel_size")
    return Module(
        "LasrEncoderConvolutionModule",
        activation=activation(c.text("hidden_act", default="silu")),
        pointwise_conv1=Conv(h, 2 * h, 1, dims=1, bias=bias),
        depthwise_conv=Conv(h, h, kernel, dims=1, groups=h, bias=bias),
        norm=BatchNorm(h, dims=1),
        pointwise_conv2=Conv(h, h, 1, dims=1, bias=bias),
        component=Component.CONV,
    )


def _subsampling(c: ModelConfig, h: Dim) -> Module:
    kernel, channels = c.dim("subsampling_conv_kernel_size"), c.dim("subsampling_conv_channels")
    stride = c.dim("subsampling_conv_stride")
    return Module(
        "LasrEncoderSubsampling",
        dense_0=Linear(c.dim("num_mel_bins"), h),
        conv_0=Conv(h, h, kernel, dims=1, stride=stride),
        conv_1=Conv(h, channels, kernel, dims=1, stride=stride),
        dense_1=Linear(channels, h),
        act_fn=Activation("ReLU"),
        component=Component.CONV,
    )


def encoder(c: ModelConfig) -> Module:
    h, bias = c.dim("hidden_size"), c.flag("attention_bias", default=False)
    norm = LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-6), bias=False)
    layer = Module(
        "LasrEncoderBlock",
        feed_forward1=_feed_forward(c, h, bias),
        self_attn=grouped_attention("LasrEncoderAttention", h, grouped_heads(c, h), bias=bias),
        conv=_convolution(c, h),
        feed_forward2=_feed_forward(c, h, bias),
        norm_feed_forward1=norm,
        norm_self_att=norm,
        norm_conv=norm,
        norm_feed_forward2=norm,
        norm_out=norm,
    )
    return Module(
        "LasrEncoder",
        subsampler=_subsampling(c, h),
        rotary_emb=Activation("LasrEncoderRotaryEmbedding"),
        layers=Layers.of(c.count("num_hidden_layers"), layer),
        out_norm=norm,
        part="audio",
    )


def ctc(c: ModelConfig) -> Module:
    inner, vocab = c.section("encoder_config"), c.dim("vocab_size", default=512)
    head = Conv(inner.dim("hidden_size", default=512), vocab, 1, dims=1, component=Component.HEAD)
    head.class_name, head.kind = "LasrEncoderCTCHead", "lm_head"
    sound = auto_model(inner, default_type="lasr_encoder", part="audio")
    return Module("LasrForCTC", encoder=sound, ctc_head=head, part="audio")


_encoder = with_defaults(_DEFAULTS, {"_": encoder})["_"]
register_part("lasr_encoder", "LasrEncoder", _encoder, "audio")
register_part("lasr_ctc", "LasrForCTC", ctc, "audio")
