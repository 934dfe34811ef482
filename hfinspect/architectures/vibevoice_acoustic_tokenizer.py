"""VibeVoice's tokenizer of sound (Microsoft 2025). Source of shapes:
transformers/models/vibevoice_acoustic_tokenizer.

Stages of one-dimensional ConvNeXt layers, each behind a strided convolution: down to a few frames a
second, and back up from there.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import conformers
from ..layers.blocks import two_layer_mlp
from ..layers.composing import defaulted
from ..trees.catalog import auto_model, register_part
from ..trees.modules import Conv, Module, ModuleList, RMSNorm, Weight

NAME = "VibeVoiceAcousticTokenizer"
TYPE = "vibevoice_acoustic_tokenizer"
ENCODER, _DECODER = f"{TYPE}_encoder", f"{TYPE}_decoder"
_DEFAULTS = {
    "channels": 1, "hidden_size": 64, "kernel_size": 7, "num_filters": 32, "ffn_expansion": 4,
    "downsampling_ratios": (2, 2, 4, 5, 5, 8), "depths": (3, 3, 3, 3, 3, 3, 8),
}  # fmt: skip


def _conv(inputs: Dim, outputs: Dim, kernel: Dim, **options: Any) -> Module:
    return Module(f"{NAME}CausalConv1d", conv=Conv(inputs, outputs, kernel, dims=1, **options))


def _layer(c: ModelConfig, width: Dim) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    norm = RMSNorm(width, eps=eps, class_name=f"{NAME}RMSNorm")
    inner, act = c.dim("ffn_expansion") * width, c.text("hidden_act", default="gelu")
    return Module(
        f"{NAME}ConvNext1dLayer",
        gamma=Weight(width, kind="scale"),
        ffn_gamma=Weight(width, kind="scale", component=Component.MLP),
        norm=norm,
        ffn_norm=norm,
        ffn=two_layer_mlp(f"{NAME}FeedForward", width, inner, act=act, **conformers.MLP),
        mixer=_conv(width, width, c.dim("kernel_size"), groups=width),
    )


def _stages(c: ModelConfig) -> tuple[Sequence[Dim], Sequence[Dim]]:
    """Depths, and the ratios between the stages."""
    depths, ratios = c.dims("depths", minimum=0), c.dims("downsampling_ratios")
    if len(depths) != len(ratios) + 1:
        raise c.error("depths", list(map(int, depths)), f"one stage more than {len(ratios)} ratios")
    if max(depths) > 1000:
        raise c.error("depths", list(map(int, depths)), "at most 1000 layers a stage")
    return depths, ratios


def _stack(
    c: ModelConfig, side: str, ends: tuple[Dim, Dim], widths: Sequence[Dim], depths: Sequence[Dim],
    between: Sequence[tuple[str, Module]],
) -> Module:  # fmt: skip
    """Stages of those widths and depths, what stands ``between`` each two of them under its name,
    from and to as many channels as the ``ends`` have."""
    stages = [
        ModuleList([_layer(c, width)] * int(depth))
        for width, depth in zip(widths, depths, strict=True)
    ]
    kernel = c.dim("kernel_size")
    layers = [
        Module(f"{NAME}{side}Layer", {name: conv, "stage": stage})
        for (name, conv), stage in zip(between, stages[1:], strict=True)
    ]
    return Module(
        f"{NAME}{side}Model",
        stem=Module(f"{NAME}{side}Stem", conv=_conv(ends[0], widths[0], kernel), stage=stages[0]),
        conv_layers=ModuleList(layers),
        head=_conv(widths[-1], ends[1], kernel, component=Component.HEAD),
        component=Component.CONV,
        part="audio",
    )


def encoder(c: ModelConfig) -> Module:
    depths, ratios = _stages(c)
    widths, between = [c.dim("num_filters")], []
    for ratio in ratios:
        width = widths[-1]
        between.append(("conv", _conv(width, width * 2, ratio * 2, stride=ratio)))
        widths.append(width * 2)
    return _stack(c, "Encoder", (c.dim("channels"), c.dim("hidden_size")), widths, depths, between)


def decoder(c: ModelConfig, *, reverse: bool = False) -> Module:
    """``reverse``: the depths are those of the encoder, whose order is the other one."""
    depths, ratios = _stages(c)
    filters, between = c.dim("num_filters"), []
    widths = [*(filters * 2**i for i in range(len(ratios), 0, -1)), filters]
    for (width, half), ratio in zip(pairwise(widths), reversed(ratios), strict=True):
        up = Conv(width, half, ratio * 2, dims=1, stride=ratio, transposed=True)
        between.append(("convtr", Module(f"{NAME}CausalConvTranspose1d", convtr=up)))
    depths = depths[::-1] if reverse else depths
    return _stack(c, "Decoder", (c.dim("hidden_size"), c.dim("channels")), widths, depths, between)


def model(c: ModelConfig) -> Module:
    return Module(f"{NAME}Model", encoder=encoder(c), decoder=decoder(c, reverse=True))


def section(c: ModelConfig, key: str, default_type: str, width: int = 64) -> tuple[Module, Dim]:
    """A tokenizer (or one side of it) that a composite takes, and the width of its frames; an
    absent section has frames of ``width``. Raises ConfigError for another model_type."""
    inner = c.section(key, default={"hidden_size": width})
    if inner.model_type not in (None, TYPE, ENCODER, _DECODER):
        raise inner.error("model_type", inner.model_type, f"{TYPE} or a side of it")
    return auto_model(inner, default_type=default_type), inner.dim("hidden_size", default=64)


for _type, _side, _build in (
    (TYPE, "Model", model),
    (ENCODER, "EncoderModel", encoder),
    (_DECODER, "DecoderModel", decoder),
):
    _name = f"{NAME}{_side}"
    register_part(_type, _name, defaulted(_DEFAULTS, _build), "audio")
