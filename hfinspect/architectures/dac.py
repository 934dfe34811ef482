"""Descript's audio codec (Kumar et al. 2023). Saved configs hold widths that are computed where
they are absent (transformers/models/dac)."""

from collections.abc import Callable

from ..layers.composing import defaulted
from ..trees import Component, Dim, ModelConfig, config_defaults, register_part
from ..trees.modules import Activation, Conv, Embedding, Layers, Module, ModuleList, Weight

#: The module of Snake's coefficients for so many channels.
Snake = Callable[[Dim], Module]


def _snake(width: Dim) -> Module:
    return Module("Snake1d", alpha=Weight(1, width, 1), component=Component.OTHER)


def _units(name: str, width: Dim, snake: Snake) -> dict[str, Module]:
    wide = Conv(width, width, 7, dims=1)
    point = Conv(width, width, 1, dims=1)
    parts = {"snake1": snake(width), "conv1": wide, "snake2": snake(width), "conv2": point}
    unit = Module(f"{name}ResidualUnit", parts)
    return {f"res_unit{number}": unit for number in (1, 2, 3)}


def hidden(c: ModelConfig) -> Dim:
    """Channels of a frame: doubled at each stage, unless the config says otherwise."""
    first = c.dim("encoder_hidden_size")
    stages = len(c.dims("downsampling_ratios"))
    return c.dim("hidden_size", default=first * 2**stages)


def encoder(c: ModelConfig, *, name: str = "Dac", snake: Snake = _snake) -> Module:
    width = first = c.dim("encoder_hidden_size")
    built = list[Module]()
    for stride in c.dims("downsampling_ratios"):
        down = Conv(width, width * 2, stride * 2, dims=1, stride=stride)
        parts = {**_units(name, width, snake), "snake1": snake(width), "conv1": down}
        built.append(Module(f"{name}EncoderBlock", parts))
        width = width * 2
    return Module(
        f"{name}Encoder",
        conv1=Conv(1, first, 7, dims=1),
        block=Layers(built),
        snake1=snake(width),
        conv2=Conv(width, hidden(c), 3, dims=1),
        component=Component.CONV,
    )


def decoder(c: ModelConfig) -> Module:
    ratios = c.dims("upsampling_ratios", default=c.dims("downsampling_ratios")[::-1])
    width = first = c.dim("decoder_hidden_size", minimum=2 ** len(ratios))
    built = list[Module]()
    for i, stride in enumerate(ratios, 1):
        half = first // 2**i
        up = Conv(width, half, stride * 2, dims=1, stride=stride, transposed=True)
        parts = {"snake1": _snake(width), "conv_t1": up, **_units("Dac", half, _snake)}
        built.append(Module("DacDecoderBlock", parts))
        width = half
    return Module(
        "DacDecoder",
        conv1=Conv(hidden(c), first, 7, dims=1),
        block=Layers(built),
        snake1=_snake(width),
        conv2=Conv(width, 1, 7, dims=1),
        tanh=Activation("Tanh"),
        component=Component.CONV,
    )


def model(c: ModelConfig) -> Module:
    h = hidden(c)
    width = c.dim("codebook_dim")
    at = Component.EMBEDDING
    book = Module(
        "DacVectorQuantize",
        in_proj=Conv(h, width, 1, dims=1, component=at),
        out_proj=Conv(width, h, 1, dims=1, component=at),
        codebook=Embedding(c.dim("codebook_size"), width, kind="codebook"),
    )
    books = ModuleList([book] * int(c.count("n_codebooks")))
    last = Module("DacResidualVectorQuantizer", quantizers=books, component=at)
    return Module("DacModel", encoder=encoder(c), decoder=decoder(c), quantizer=last, part="audio")


register_part("dac", "DacModel", defaulted(config_defaults("dac"), model), "audio")
