"""EnCodec (Defossez et al. 2022). Source: transformers/models/encodec.

Convolutions down to a few frames a second and back up, an LSTM at the bottom of each side, and
codebooks between them.  Codebooks are buffers: learned by averaging, not by gradients.
"""

import math

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.composing import with_defaults
from ..layers.speech import weight_normed
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Buffer,
    Conv,
    GroupNorm,
    Layers,
    Module,
    ModuleList,
    Parameter,
    Weight,
)  # fmt: skip

_DEFAULTS = {
    "audio_channels": 1, "hidden_size": 128, "num_filters": 32, "num_residual_layers": 1,
    "upsampling_ratios": (8, 5, 4, 2), "kernel_size": 7, "last_kernel_size": 7,
    "residual_kernel_size": 3, "compress": 2, "num_lstm_layers": 2, "codebook_size": 1024,
    "sampling_rate": 24000,
}  # fmt: skip

#: Gates of an LSTM: input, forget, cell, output; their matrices are stacked.
_GATES = 4
#: Quantizers that a bandwidth may need; EnCodec's own have 32.
_MAX_QUANTIZERS = 1_000


def _norm_type(c: ModelConfig) -> str:
    kind = c.text("norm_type", default="weight_norm") or "weight_norm"
    if kind not in ("weight_norm", "time_group_norm"):
        raise c.error("norm_type", kind, "weight_norm or time_group_norm")
    return kind


def conv(c: ModelConfig, inputs: Dim, outputs: Dim, kernel: Dim | int, *, up: bool = False,
         stride: int = 1) -> Module:  # fmt: skip
    """A convolution whose weight or output is normed; ``up``: transposed."""
    inner = Conv(inputs, outputs, kernel, dims=1, stride=stride, transposed=up)
    grouped = _norm_type(c) == "time_group_norm"
    return Module(
        "EncodecConvTranspose1d" if up else "EncodecConv1d",
        conv=inner if grouped else weight_normed(inner, (inputs if up else outputs, 1, 1)),
        norm=GroupNorm(1, outputs) if grouped else None,
    )


def lstm(width: Dim, layers: int) -> Module:
    """``nn.LSTM``: per layer two matrices of 4·W·W and two biases of 4·W."""
    matrix, bias = Weight(_GATES * width, width), Weight(_GATES * width)
    tensors: dict[str, Parameter] = {}
    for i in range(int(layers)):
        tensors[f"weight_ih_l{i}"] = tensors[f"weight_hh_l{i}"] = matrix
        tensors[f"bias_ih_l{i}"] = tensors[f"bias_hh_l{i}"] = bias
    return Module("LSTM", {**tensors}, component=Component.OTHER)


def _lstm(c: ModelConfig, width: Dim) -> Module:
    return Module("EncodecLSTM", lstm=lstm(width, c.count("num_lstm_layers")))


def residual(c: ModelConfig, width: Dim) -> Module:
    inner = width // c.dim("compress")
    act = Activation("ELU", "alpha=1.0")
    shortcut = c.flag("use_conv_shortcut", default=True)
    return Module(
        "EncodecResnetBlock",
        block=ModuleList(
            [
                act,
                conv(c, width, inner, c.dim("residual_kernel_size")),
                act,
                conv(c, inner, width, 1),
            ]
        ),
        shortcut=conv(c, width, width, 1) if shortcut else Activation("Identity"),
    )


def _ratios(c: ModelConfig) -> tuple[Dim, ...]:
    return c.dims("upsampling_ratios")


def _residuals(c: ModelConfig, width: Dim) -> list[Module]:
    return [residual(c, width)] * int(c.count("num_residual_layers"))


def encoder(c: ModelConfig) -> Module:
    width, act = c.dim("num_filters"), Activation("ELU", "alpha=1.0")
    built = [conv(c, c.dim("audio_channels"), width, c.dim("kernel_size"))]
    for ratio in reversed(_ratios(c)):
        built += [*_residuals(c, width), act]
        built.append(conv(c, width, width * 2, ratio * 2, stride=ratio))
        width = width * 2
    built += [_lstm(c, width), act]
    built.append(conv(c, width, c.dim("hidden_size"), c.dim("last_kernel_size")))
    return Module("EncodecEncoder", layers=Layers(built), component=Component.CONV)


def decoder(c: ModelConfig) -> Module:
    first, act = c.dim("num_filters"), Activation("ELU", "alpha=1.0")
    width = first * 2 ** len(_ratios(c))
    built = [conv(c, c.dim("hidden_size"), width, c.dim("kernel_size")), _lstm(c, width)]
    for ratio in _ratios(c):
        half = width // 2
        built += [act, conv(c, width, half, ratio * 2, up=True, stride=ratio)]
        built += _residuals(c, half)
        width = half
    built += [act, conv(c, first, c.dim("audio_channels"), c.dim("last_kernel_size"))]
    return Module("EncodecDecoder", layers=Layers(built), component=Component.CONV)


def quantizers(c: ModelConfig) -> Dim:
    """As many codebooks as the widest bandwidth carries: kbit/s over frames/s times bits."""
    bandwidths = c.raw("target_bandwidths")
    if bandwidths is None:
        bandwidths = (1.5, 3.0, 6.0, 12.0, 24.0)
    widest = bandwidths[-1] if isinstance(bandwidths, (list, tuple)) and bandwidths else None
    if isinstance(widest, bool) or not isinstance(widest, (int, float)) or not 0 <= widest < 1e9:
        raise c.error("target_bandwidths", bandwidths, "a list of numbers")
    hop = math.prod(int(ratio) for ratio in _ratios(c))
    frames = -(-int(c.dim("sampling_rate")) // hop)
    bits = max(1, (int(c.dim("codebook_size", minimum=2)) - 1).bit_length())
    count = int(1000 * widest // (frames * bits))
    if count > _MAX_QUANTIZERS:
        raise c.error("target_bandwidths", widest, f"at most {_MAX_QUANTIZERS} quantizers' worth")
    return named(
        count, "num_quantizers", "1000 * widest bandwidth // (frames per second * bits per code)"
    )


def quantizer(c: ModelConfig) -> Module:
    size, width = c.dim("codebook_size"), c.dim("codebook_dim", default=c.dim("hidden_size"))
    codebook = Module(
        "EncodecEuclideanCodebook",
        inited=Buffer(1),
        cluster_size=Buffer(size),
        embed=Buffer(size, width),
        embed_avg=Buffer(size, width),
    )
    layer = Module("EncodecVectorQuantization", codebook=codebook)
    return Module(
        "EncodecResidualVectorQuantizer",
        layers=Layers([layer] * int(quantizers(c))),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "EncodecModel",
        encoder=encoder(c),
        decoder=decoder(c),
        quantizer=quantizer(c),
        part="audio",
    )


register(
    "encodec",
    with_defaults(_DEFAULTS, {"EncodecModel": model}),
    base_prefix="encodec",
    category="audio",
)
