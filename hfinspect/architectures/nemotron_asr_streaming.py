"""Nemotron's streaming transcription (NVIDIA 2026): Parakeet with convolutions that see no future.
Sources of shapes: transformers/models/{nemotron_asr_streaming,nemotron3_5_asr}."""

from functools import partial

from ..layers import conformers
from ..layers.composing import defaulted, renamed
from ..trees import Component, ModelConfig, register_part
from ..trees.modules import Activation, Conv, LayerNorm, Layers, Linear, Module
from . import parakeet

_NAME = "NemotronAsrStreaming"
_LATER = "Nemotron3_5Asr"
_ENCODER = "nemotron_asr_streaming_encoder"


def encoder(c: ModelConfig) -> Module:
    channels = c.dim("subsampling_conv_channels")
    kernel = c.dim("subsampling_conv_kernel_size")
    stride = c.dim("subsampling_conv_stride")
    bands = int(c.dim("num_mel_bins"))
    steps = int(c.dim("subsampling_factor")).bit_length() - 1
    h = c.dim("hidden_size")
    for _ in range(steps):  # padding of kernel - 1 + stride - 1 (subsampling_out_hidden_size)
        bands = (bands + int(stride) - 2) // int(stride) + 1
    causal = partial(Conv, stride=stride, class_name=f"{_NAME}EncoderCausalConv2D")
    depthwise = causal(channels, channels, kernel, groups=channels)
    step = {"depthwise_conv": depthwise, "pointwise_conv": Conv(channels, channels, 1)}
    layers = Layers([Module(f"{_NAME}EncoderSubsamplingLayer", step)] * (steps - 1))
    parts = {"conv_in": causal(1, channels, kernel), "layers": layers}
    parts |= {"act_fn": Activation("ReLU"), "linear": Linear(channels * bands, h)}
    subsampling = Module(f"{_NAME}EncoderSubsamplingConv2D", parts, component=Component.CONV)
    block = conformers.fast_layer(c, LayerNorm(h))
    block.inside("conv", "depthwise_conv").class_name = f"{_NAME}EncoderCausalConv1d"
    return renamed(conformers.fast_encoder(c, subsampling, block), "Parakeet", _NAME)


def rnnt(c: ModelConfig, name: str = _NAME, vocab: int = 1025) -> Module:
    built = parakeet.transducer(c, f"{name}ForRNNT", vocab=vocab, encoder=_ENCODER)
    return renamed(built, "ParakeetRNNT", f"{name}RNNT")


def prompted(c: ModelConfig) -> Module:
    h = c.section("encoder_config").dim("hidden_size", default=1024)
    inner = c.dim("prompt_intermediate_size", default=2048)
    hot = c.dim("num_prompts", default=128)
    parts = {"linear_1": Linear(h + hot, inner), "act": Activation("ReLU")}
    parts["linear_2"] = Linear(inner, h)
    to = Component.PROJECTOR
    prompt = Module(f"{_LATER}PromptProjector", parts, component=to)
    return rnnt(c, _LATER, 13088).adding(prompt_projector=prompt)


register_part(_ENCODER, f"{_NAME}Encoder", defaulted(parakeet.DEFAULTS, encoder), "audio")
register_part("nemotron_asr_streaming", f"{_NAME}ForRNNT", rnnt, "audio")
register_part("nemotron3_5_asr", f"{_LATER}ForRNNT", prompted, "audio")
