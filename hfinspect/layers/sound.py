"""What makers of sound share: SEANet's convolutions (Tagliasacchi et al. 2020) of EnCodec and Mimi,
the number of codebooks, and HiFi-GAN (Kong et al. 2020).

Source: transformers/models/{encodec,mimi,xcodec,vits,speecht5}.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..trees import Component, Dim, ModelConfig, named
from ..trees.modules import Activation, Buffer, Conv, Layers, Module, ModuleList, Parameter

#: A codec's own convolution: inputs, outputs, kernel; ``stride``; ``up`` where it is transposed.
Convolve = Callable[..., Module]
#: What stands where the frames are fewest, for so many channels.
Bottom = Callable[[Dim], Module]

# ---- SEANet


def elu() -> Module:
    """The activation of all of them."""
    return Activation("ELU", "alpha=1.0")


def _residuals(
    c: ModelConfig, name: str, conv: Convolve, width: Dim, shortcut: bool
) -> list[Module]:
    inner = width // c.dim("compress")
    first = conv(width, inner, c.dim("residual_kernel_size"))
    has_conv = c.flag("use_conv_shortcut", default=shortcut)
    block = Module(
        f"{name}ResnetBlock",
        block=ModuleList([elu(), first, elu(), conv(inner, width, 1)]),
        shortcut=conv(width, width, 1) if has_conv else Activation("Identity"),
    )
    return [block] * int(c.count("num_residual_layers"))


def encoder(
    c: ModelConfig,
    name: str,
    conv: Convolve,
    ending: str = "",
    *,
    shortcut: bool = False,
    bottom: Bottom | None = None,
) -> Module:
    """From the waveform to frames: each ratio thins them out and doubles the channels.
    ``shortcut`` is the default of use_conv_shortcut; ``ending`` ends the name of the class."""
    width = c.dim("num_filters")
    built = [conv(c.dim("audio_channels"), width, c.dim("kernel_size"))]
    for ratio in reversed(c.dims("upsampling_ratios")):
        built += [*_residuals(c, name, conv, width, shortcut), elu()]
        built.append(conv(width, width * 2, ratio * 2, stride=ratio))
        width = width * 2
    built += [bottom(width)] if bottom else []
    layers = Layers([*built, elu(), conv(width, c.dim("hidden_size"), c.dim("last_kernel_size"))])
    return Module(f"{name}Encoder{ending}", layers=layers, component=Component.CONV)


def decoder(
    c: ModelConfig,
    name: str,
    conv: Convolve,
    ending: str = "",
    *,
    shortcut: bool = False,
    bottom: Bottom | None = None,
) -> Module:
    """The way back."""
    ratios = c.dims("upsampling_ratios")
    width = c.dim("num_filters") * 2 ** len(ratios)
    built = [conv(c.dim("hidden_size"), width, c.dim("kernel_size"))]
    built += [bottom(width)] if bottom else []
    for ratio in ratios:
        half = width // 2
        built += [elu(), conv(width, half, ratio * 2, up=True, stride=ratio)]
        built += _residuals(c, name, conv, half, shortcut)
        width = half
    last = conv(c.dim("num_filters"), c.dim("audio_channels"), c.dim("last_kernel_size"))
    layers = Layers([*built, elu(), last])
    return Module(f"{name}Decoder{ending}", layers=layers, component=Component.CONV)


# ---- codebooks

#: Quantizers that a bandwidth may need; EnCodec's own have 32.
_MAX_QUANTIZERS = 1_000


def hop(c: ModelConfig, key: str = "downsampling_ratios") -> int:
    """Samples of a frame: the product of all ratios."""
    return math.prod(int(ratio) for ratio in c.dims(key))


def quantizers(
    c: ModelConfig, samples: int, bandwidths: tuple[float, ...], *, rate: str = "sample_rate"
) -> Dim:
    """As many codebooks as the widest bandwidth carries: kbit/s over frames/s times bits.

    ``samples`` are those of a frame, ``bandwidths`` the config class's default, ``rate`` the key of
    the samples per second. Raises ConfigError.
    """
    listed = c.raw("target_bandwidths")
    listed = bandwidths if listed is None else listed
    widest = listed[-1] if isinstance(listed, (list, tuple)) and listed else None
    if isinstance(widest, bool) or not isinstance(widest, (int, float)) or not 0 <= widest < 1e9:
        raise c.error("target_bandwidths", listed, "a list of numbers")
    frames = -(-int(c.dim(rate)) // samples)
    bits = (int(c.dim("codebook_size", minimum=2)) - 1).bit_length()
    count = int(1000 * widest // (frames * bits))
    if count > _MAX_QUANTIZERS:
        raise c.error("target_bandwidths", widest, f"at most {_MAX_QUANTIZERS} quantizers' worth")
    return named(
        count, "num_quantizers", "1000 * widest bandwidth // (frames per second * bits per code)"
    )


def codebook(class_name: str, size: int, width: int) -> Module:
    """Vectors that are learned by averaging, not by gradients: buffers."""
    return Module(
        class_name,
        inited=Buffer(1),
        cluster_size=Buffer(size),
        embed=Buffer(size, width),
        embed_avg=Buffer(size, width),
    )


# ---- HiFi-GAN

#: The sizes of VITS' and FastSpeech 2's.
HIFIGAN: dict[str, Any] = {
    "upsample_initial_channel": 512,
    "upsample_rates": (8, 8, 2, 2),
    "upsample_kernel_sizes": (16, 16, 4, 4),
    "resblock_kernel_sizes": (3, 7, 11),
    "resblock_dilation_sizes": ((1, 3, 5),) * 3,
}


def hifigan(
    c: ModelConfig,
    class_name: str,
    inputs: Dim,
    *,
    bias: bool = True,
    voice: Dim | None = None,
    **before: Parameter,
) -> Module:
    """A waveform of ``inputs`` channels: transposed convolutions that halve the channels; behind
    each a residual block per kernel size, with two convolutions for each of its dilations.
    ``voice`` is the width of a speaker's vector, ``bias`` that of the last."""
    rates = c.dims("upsample_rates")
    kernels = c.dims("upsample_kernel_sizes")
    sizes = c.dims("resblock_kernel_sizes")
    dilations = c.raw("resblock_dilation_sizes")
    if not isinstance(dilations, (list, tuple)) or not all(
        isinstance(group, (list, tuple)) for group in dilations
    ):
        raise c.error("resblock_dilation_sizes", dilations, "a list of lists")
    channels = first = c.dim("upsample_initial_channel")
    up = list[Module]()
    blocks = list[Module]()
    for rate, kernel in zip(rates, kernels, strict=False):
        half = channels // 2
        up.append(Conv(channels, half, kernel, dims=1, stride=rate, transposed=True))
        for size, group in zip(sizes, dilations, strict=False):
            convs = ModuleList([Conv(half, half, size, dims=1)] * len(group))
            blocks.append(Module("HifiGanResidualBlock", convs1=convs, convs2=convs))
        channels = half
    if not up:
        raise c.error("upsample_rates", "empty", "one rate per transposed convolution")
    return Module(
        class_name,
        {
            **before,
            "conv_pre": Conv(inputs, first, 7, dims=1),
            "upsampler": ModuleList(up),
            "resblocks": Layers(blocks),
            "conv_post": Conv(channels, 1, 7, dims=1, bias=bias),
            "cond": Conv(voice, first, 1, dims=1) if voice else None,
        },
        component=Component.CONV,
        part="audio",
    )
