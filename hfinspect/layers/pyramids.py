"""UPerNet's heads for segmentation (Xiao et al. 2018): the last of some maps is pooled at several
scales, all are added from coarse to fine; a second, plain head is there for training.

Sources of shapes: transformers/models/{upernet,beit,data2vec}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..trees import Component, Dim, ModelConfig
from ..trees.modules import Activation, BatchNorm, Conv, Module, ModuleList, Sequential

#: Makes a family's convolution from inputs, outputs and the size of its kernel.
Convolution = Callable[[int, int, int], Module]


def normed(class_name: str, conv: str, norm: str) -> Convolution:
    """A convolution without a bias, its batch norm and an activation, under these names."""

    def build(inputs: int, outputs: int, kernel: int) -> Module:
        first = Conv(inputs, outputs, kernel, bias=False, component=Component.HEAD)
        parts = {conv: first, norm: BatchNorm(outputs)}
        return Module(class_name, parts, activation=Activation("ReLU"))

    return build


def scores(c: ModelConfig, width: int) -> Module:
    """A score for each label at each place: W·labels weights."""
    return Conv(width, c.num_labels, 1, component=Component.HEAD, kind="classifier")


def uper_head(name: str, c: ModelConfig, h: Dim, maps: Sequence[Dim], conv: Convolution) -> Module:
    """The head over ``maps`` of these widths, all brought to ``h``."""
    last = maps[-1]
    scales = len(c.dims("pool_scales", default=(1, 2, 3, 6)))
    pooled = Sequential(Activation("AdaptiveAvgPool2d"), conv(last, h, 1))
    return Module(
        name,
        classifier=scores(c, h),
        psp_modules=ModuleList([pooled] * scales),
        bottleneck=conv(last + scales * h, h, 3),
        lateral_convs=ModuleList(conv(width, h, 1) for width in maps[:-1]),
        fpn_convs=ModuleList([conv(h, h, 3)] * (len(maps) - 1)),
        fpn_bottleneck=conv(len(maps) * h, h, 3),
        component=Component.HEAD,
    )


def plain_head(name: str, c: ModelConfig, inputs: Dim, conv: Convolution) -> Module:
    """Convolutions over a map in the middle, ``inputs`` wide."""
    width = c.dim("auxiliary_channels", default=256)
    count = int(c.count("auxiliary_num_convs", default=1))
    rest = [conv(width, width, 3)] * (count - 1)
    joined = c.flag("auxiliary_concat_input", default=False)
    return Module(
        name,
        convs=ModuleList([conv(inputs, width, 3), *rest] if count else []),
        conv_cat=conv(inputs + width, width, 3) if joined else None,
        classifier=scores(c, width),
        component=Component.HEAD,
    )
