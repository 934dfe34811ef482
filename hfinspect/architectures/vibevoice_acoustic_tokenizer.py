"""VibeVoice's tokenizer of sound (Microsoft 2025). Source of shapes:
transformers/models/vibevoice_acoustic_tokenizer.

Stages of one-dimensional ConvNeXt layers, each behind a strided convolution: down to a few frames a
second, and back up from there.
"""

from collections.abc import Sequence

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


def _conv(inputs: Dim, outputs: Dim, kernel: Dim, *, stride: int = 1, groups: int = 1) -> Module:
    inner = Conv(inputs, outputs, kernel, dims=1, stride=stride, groups=groups)
    return Module(f"{NAME}CausalConv1d", conv=inner)


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


def _stage(c: ModelConfig, width: Dim, depth: Dim) -> list[Module]:
    return [_layer(c, width)] * int(depth)


def _head(inputs: Dim, outputs: Dim, kernel: Dim) -> Module:
    inner = Conv(inputs, outputs, kernel, dims=1, component=Component.HEAD)
    return Module(f"{NAME}CausalConv1d", conv=inner)


def _stages(c: ModelConfig) -> tuple[Sequence[Dim], Sequence[Dim]]:
    """Depths, and the ratios between the stages."""
    depths, ratios = c.dims("depths", minimum=0), c.dims("downsampling_ratios")
    if len(depths) != len(ratios) + 1:
        raise c.error("depths", list(map(int, depths)), f"one stage more than {len(ratios)} ratios")
    if max(depths) > 1000:
        raise c.error("depths", list(map(int, depths)), "at most 1000 layers a stage")
    return depths, ratios


def encoder(c: ModelConfig) -> Module:
    depths, ratios = _stages(c)
    width, kernel = c.dim("num_filters"), c.dim("kernel_size")
    stem = Module(
        f"{NAME}EncoderStem",
        conv=_conv(c.dim("channels"), width, kernel),
        stage=ModuleList(_stage(c, width, depths[0])),
    )
    built = []
    for depth, ratio in zip(depths[1:], ratios, strict=True):
        down = _conv(width, width * 2, ratio * 2, stride=ratio)
        width = width * 2
        built.append(
            Module(f"{NAME}EncoderLayer", conv=down, stage=ModuleList(_stage(c, width, depth)))
        )
    return Module(
        f"{NAME}EncoderModel",
        stem=stem,
        conv_layers=ModuleList(built),
        head=_head(width, c.dim("hidden_size"), kernel),
        component=Component.CONV,
        part="audio",
    )


def decoder(c: ModelConfig, *, reverse: bool = False) -> Module:
    """``reverse``: the depths are those of the encoder, whose order is the other one."""
    depths, ratios = _stages(c)
    depths = depths[::-1] if reverse else depths
    kernel, filters = c.dim("kernel_size"), c.dim("num_filters")
    width = filters * 2 ** len(ratios)
    stem = Module(
        f"{NAME}DecoderStem",
        conv=_conv(c.dim("hidden_size"), width, kernel),
        stage=ModuleList(_stage(c, width, depths[0])),
    )
    built = []
    for i, (depth, ratio) in enumerate(zip(depths[1:], reversed(ratios), strict=True), 1):
        half = filters * 2 ** (len(ratios) - i)
        up = Conv(width, half, ratio * 2, dims=1, stride=ratio, transposed=True)
        convtr = Module(f"{NAME}CausalConvTranspose1d", convtr=up)
        width = half
        built.append(
            Module(f"{NAME}DecoderLayer", convtr=convtr, stage=ModuleList(_stage(c, width, depth)))
        )
    return Module(
        f"{NAME}DecoderModel",
        stem=stem,
        conv_layers=ModuleList(built),
        head=_head(filters, c.dim("channels"), kernel),
        component=Component.CONV,
        part="audio",
    )


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
