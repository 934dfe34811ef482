"""The encoder of Moonshine for streams (Useful Sensors); the whole is a trace. Source:
transformers/models/moonshine_streaming.

Frames of a few milliseconds through one matrix and two causal convolutions, and layers that look at
a window, without positions.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.vision import plain_mlp
from ..trees.catalog import register_part
from ..trees.modules import Activation, Conv, Layers, Linear, Module, Weight

_NAME = "MoonshineStreaming"
#: Kernel and stride of both convolutions (MoonshineStreamingEncoderEmbedder).
_KERNEL, _STRIDE = 5, 2
#: A second of the highest rate of recordings.
_MAX_FRAME = 1_000_000


def _frame(c: ModelConfig) -> Dim:
    rate, time = c.number("sample_rate", default=16000), c.number("frame_ms", default=5.0)
    found = round(rate * time / 1000.0)
    if not 1 <= found <= _MAX_FRAME:
        raise c.error("frame_ms", time, f"frames of 1 to {_MAX_FRAME:,} samples")
    return named(found, "frame_length", "sample_rate * frame_ms / 1000, rounded")


def _norm(h: Dim) -> Module:
    return Module(f"{_NAME}LayerNorm", gamma=Weight(h), component=Component.NORM)


def embedder(c: ModelConfig, h: Dim) -> Module:
    def convolution(inputs: Dim, outputs: Dim) -> Module:
        made = Conv(inputs, outputs, _KERNEL, dims=1, stride=_STRIDE)
        made.class_name = f"{_NAME}CausalConv1d"
        return made

    return Module(
        f"{_NAME}EncoderEmbedder",
        cmvn=Activation(f"{_NAME}FrameCMVN"),
        comp=Module(f"{_NAME}AsinhCompression", log_k=Weight()),
        conv1=convolution(h, h * 2),
        conv2=convolution(h * 2, h),
        linear=Linear(_frame(c), h, bias=False),
        component=Component.EMBEDDING,
    )


def encoder(c: ModelConfig) -> Module:
    h, inner = c.dim("hidden_size", default=320), c.dim("intermediate_size", default=1280)
    bias, name = c.flag("attention_bias", default=False), f"{_NAME}Encoder"
    heads = grouped_heads(c, h, heads=8, kv=8)
    block = Module(
        f"{name}Layer",
        self_attn=grouped_attention(f"{name}Attention", h, heads, bias=bias),
        mlp=plain_mlp(f"{name}MLP", h, inner, act=c.text("hidden_act", default="gelu")),
        input_layernorm=_norm(h),
        post_attention_layernorm=_norm(h),
    )
    return Module(
        name,
        embedder=embedder(c, h),
        layers=Layers.of(c.count("num_hidden_layers", default=6), block),
        final_norm=_norm(h),
        part="audio",
    )


register_part("moonshine_streaming_encoder", f"{_NAME}Encoder", encoder, "audio")
