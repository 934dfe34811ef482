"""MobileNetV2 (Sandler et al. 2018). Source: transformers/models/mobilenet_v2.

Inverted residuals: 1x1 to a greater width, a 3x3 on each channel alone, 1x1 back.  The widths are
the paper's times ``depth_multiplier``, rounded to a multiple of ``depth_divisible_by``.
"""

from functools import partial
from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import activation
from ..layers.composing import Part, composed
from ..layers.reassembling import as_head
from ..layers.vision import labels_classifier, multiple, ratio_of
from ..trees.catalog import Builder, register
from ..trees.modules import Activation, BatchNorm, Conv, Dropout, Layers, Module

_WIDTHS = (16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320)


def _times(c: ModelConfig, key: str, default: float, width: int, name: str) -> Dim:
    ratio, divisor = ratio_of(c, key, default=default), c.dim("depth_divisible_by", default=8)
    least = int(c.dim("min_depth", default=8))
    found = multiple(round(int(width) * ratio), int(divisor), least)
    text = f"{key} = {ratio:g} times {int(width)}, rounded to depth_divisible_by"
    return named(found, f"{name}({int(width)})", text)


def scaled(c: ModelConfig, width: int) -> Dim:
    return _times(c, "depth_multiplier", 1.0, width, "width")


def convolution(
    c: ModelConfig, inputs: int, outputs: int, kernel: int = 1, groups: int = 1
) -> Module:
    return Module(
        "MobileNetV2ConvLayer",
        convolution=Conv(inputs, outputs, kernel, groups=groups, bias=False),
        normalization=BatchNorm(outputs, eps=0.001),
        activation=activation(c.text("hidden_act", default="relu6")),
        component=Component.CONV,
    )


def _narrowed(c: ModelConfig, wide: Dim, outputs: Dim) -> dict[str, Module]:
    narrow = convolution(c, wide, outputs).without("activation")
    return {"conv_3x3": convolution(c, wide, wide, 3, int(wide)), "reduce_1x1": narrow}


def block(c: ModelConfig, inputs: Dim, outputs: Dim) -> Module:
    wide = _times(c, "expand_ratio", 6.0, inputs, "expanded")
    parts = {"expand_1x1": convolution(c, inputs, wide), **_narrowed(c, wide, outputs)}
    return Module("MobileNetV2InvertedResidual", {**parts})


def width(c: ModelConfig) -> Dim:
    """Of the last convolution: as in the paper, even where all others are narrower."""
    fine = c.flag("finegrained_output", default=True)
    if fine and ratio_of(c, "depth_multiplier", default=1.0) < 1:
        return Dim(1280)
    return scaled(c, 1280)


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    widths, wide = [scaled(c, size) for size in _WIDTHS], scaled(c, 32)
    stem = {"first_conv": convolution(c, c.dim("num_channels", default=3), wide, 3)}
    if not c.flag("first_layer_is_expansion", default=True):
        stem["expand_1x1"] = convolution(c, wide, wide)
    return Module(
        "MobileNetV2Model",
        conv_stem=Module("MobileNetV2Stem", {**stem, **_narrowed(c, wide, widths[0])}),
        layer=Layers(block(c, *both) for both in pairwise(widths)),
        conv_1x1=convolution(c, widths[-1], width(c)),
        pooler=Activation("AdaptiveAvgPool2d") if pooling else None,
        part="vision",
    )


def segmentation_head(c: ModelConfig) -> Module:
    """DeepLabV3+'s head over the last block (the widest convolution is unused)."""
    inputs = scaled(c, 320)
    convs = {"conv_pool": inputs, "conv_aspp": inputs, "conv_projection": 512}
    plain = c.with_values(hidden_act="relu")
    parts = {name: convolution(plain, width, 256) for name, width in convs.items()}
    scored = Module("MobileNetV2ConvLayer", convolution=Conv(256, c.num_labels, 1))
    head = {**parts, "classifier": scored}
    return as_head(Module("MobileNetV2DeepLabV3Plus", head, component=Component.HEAD))


_CLASSES: dict[str, Builder | dict[str, Part]] = {
    "MobileNetV2ForImageClassification": {
        "mobilenet_v2": model,
        "dropout": lambda c: Dropout(c.number("classifier_dropout_prob", default=0.8)),
        "classifier": lambda c: labels_classifier(c, width(c)),
    },
    "MobileNetV2Model": model,
    "MobileNetV2ForSemanticSegmentation": {
        "mobilenet_v2": partial(model, pooling=False),
        "segmentation_head": segmentation_head,
    },
}
_BUILT = composed(_CLASSES, part="vision")
register("mobilenet_v2", _BUILT, base_prefix="mobilenet_v2", category="vision")
