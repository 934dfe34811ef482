"""PaellaVQModel: the image codec of Würstchen and Stable Cascade (Rampas et al. 2022).

Source of shapes: diffusers/pipelines/deprecated/wuerstchen/modeling_paella_vq_model.py. Residual
blocks that mix channels apart from places, and a table of codes between encoder and decoder.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Sequential,
    Weight,
)


def _mixing(width: Dim) -> Module:
    norm = LayerNorm(width, eps=1e-6, weight=False)
    return Module(
        "MixingResidualBlock",
        norm1=norm,
        depthwise=Sequential(Activation("ReplicationPad2d"), Conv(width, width, 3, groups=width)),
        norm2=norm,
        channelwise=Sequential(
            Linear(width, 4 * width), Activation("GELU"), Linear(4 * width, width)
        ),
        gammas=Weight(6, component=Component.OTHER, kind="scale"),
        component=Component.CONV,
    )


def _widths(c: ModelConfig) -> list[Dim]:
    width, levels = c.dim("embed_dim", default=384), c.count("levels", default=2, minimum=1)
    return [width // 2**i for i in reversed(range(levels))]


def encoder(c: ModelConfig, latent: Dim) -> Module:
    widths = _widths(c)
    steps: list[Module] = []
    for i, width in enumerate(widths):
        if i > 0:
            steps.append(Conv(widths[i - 1], width, 4, stride=2))
        steps.append(_mixing(width))
    steps.append(Sequential(Conv(widths[-1], latent, 1, bias=False), BatchNorm(latent)))
    return Layers(steps, class_name="Sequential")


def decoder(c: ModelConfig, latent: Dim) -> Module:
    widths = _widths(c)[::-1]
    deep = c.count("bottleneck_blocks", default=12)
    steps: list[Module] = [Sequential(Conv(latent, widths[0], 1))]
    for i, width in enumerate(widths):
        steps += [_mixing(width)] * (int(deep) if i == 0 else 1)
        if i < len(widths) - 1:
            steps.append(Conv(width, widths[i + 1], 4, stride=2, transposed=True))
    return Layers(steps, class_name="Sequential")


def model(c: ModelConfig) -> Module:
    latent, first = c.dim("latent_channels", default=4), _widths(c)[0]
    factor = c.dim("up_down_scale_factor", default=2)
    pixels, out = c.dim("in_channels", default=3), c.dim("out_channels", default=3)
    codes = Embedding(c.dim("num_vq_embeddings", default=8192), latent, kind=None)
    return Module(
        "PaellaVQModel",
        in_block=Sequential(Activation("PixelUnshuffle"), Conv(pixels * factor * factor, first, 1)),
        down_blocks=encoder(c, latent),
        vquantizer=Module("VectorQuantizer", embedding=codes, component=Component.EMBEDDING),
        up_blocks=decoder(c, latent),
        out_block=Sequential(Conv(first, out * factor * factor, 1), Activation("PixelShuffle")),
        part="vision",
    )


register((), {"PaellaVQModel": model}, category="diffusion", source="diffusers")
