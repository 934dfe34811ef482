"""PaellaVQModel: the image codec of Würstchen and Stable Cascade (Rampas et al. 2022).

Source of shapes: diffusers/pipelines/deprecated/wuerstchen/modeling_paella_vq_model.py. Residual
blocks that mix channels apart from places, and a table of codes between encoder and decoder.
"""

from itertools import pairwise

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


def _encoder(widths: list[Dim], latent: Dim) -> Module:
    steps = [_mixing(widths[0])]
    for above, width in pairwise(widths):
        steps += [Conv(above, width, 4, stride=2), _mixing(width)]
    steps.append(Sequential(Conv(widths[-1], latent, 1, bias=False), BatchNorm(latent)))
    return Layers(steps, class_name="Sequential")


def _decoder(widths: list[Dim], latent: Dim, deep: int) -> Module:
    steps = [Sequential(Conv(latent, widths[-1], 1)), *[_mixing(widths[-1])] * deep]
    for width, below in pairwise(widths[::-1]):
        steps += [Conv(width, below, 4, stride=2, transposed=True), _mixing(below)]
    return Layers(steps, class_name="Sequential")


def model(c: ModelConfig) -> Module:
    latent, area = (
        c.dim("latent_channels", default=4),
        c.dim("up_down_scale_factor", default=2) ** 2,
    )
    width, levels = c.dim("embed_dim", default=384), c.count("levels", default=2, minimum=1)
    widths = [width // 2**i for i in reversed(range(levels))]
    inputs, outputs = (c.dim(f"{x}_channels", default=3) * area for x in ("in", "out"))
    deep = int(c.count("bottleneck_blocks", default=12))
    codes = Embedding(c.dim("num_vq_embeddings", default=8192), latent, kind=None)
    return Module(
        "PaellaVQModel",
        in_block=Sequential(Activation("PixelUnshuffle"), Conv(inputs, widths[0], 1)),
        down_blocks=_encoder(widths, latent),
        vquantizer=Module("VectorQuantizer", embedding=codes, component=Component.EMBEDDING),
        up_blocks=_decoder(widths, latent, deep),
        out_block=Sequential(Conv(widths[0], outputs, 1), Activation("PixelShuffle")),
        part="vision",
    )


register((), {"PaellaVQModel": model}, category="diffusion", source="diffusers")
