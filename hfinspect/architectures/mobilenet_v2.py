"""MobileNetV2 (Sandler et al. 2018): inverted residuals of the paper's widths times a multiplier,
rounded to a multiple. Source of shapes: transformers/models/mobilenet_v2."""

from functools import partial
from itertools import pairwise

from ..layers.blocks import activation
from ..layers.composing import Form
from ..layers.reassembling import as_head
from ..layers.vision import labels_classifier, multiple, ratio_of, register_seeing
from ..trees import Component, Dim, ModelConfig, named
from ..trees.modules import Activation, BatchNorm, Conv, Dropout, Layers, Module

_NAME = "MobileNetV2"
_WIDTHS = (16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320)


def _scaled(
    c: ModelConfig, width: int, key: str = "depth_multiplier", by: float = 1.0, name: str = "width"
) -> Dim:
    ratio = ratio_of(c, key, default=by)
    divisor = c.dim("depth_divisible_by", default=8)
    least = int(c.dim("min_depth", default=8))
    channels = multiple(round(int(width) * ratio), int(divisor), least)
    text = f"{key} = {ratio:g} times {int(width)}, rounded to depth_divisible_by"
    return named(channels, f"{name}({int(width)})", text)


def _conv(c: ModelConfig, inputs: int, outputs: int, kernel: int = 1, groups: int = 1) -> Module:
    conv = Conv(inputs, outputs, kernel, groups=groups, bias=False)
    parts = {"convolution": conv, "normalization": BatchNorm(outputs, eps=0.001)}
    act = activation(c.text("hidden_act", default="relu6"))
    return Module(f"{_NAME}ConvLayer", parts, activation=act, component=Component.CONV)


def _narrowed(c: ModelConfig, wide: Dim, outputs: Dim) -> dict[str, Module]:
    reduction = _conv(c, wide, outputs).without("activation")
    return {"conv_3x3": _conv(c, wide, wide, 3, int(wide)), "reduce_1x1": reduction}


def _last(c: ModelConfig) -> Dim:
    """Of the last convolution: as in the paper, even where all others are narrower."""
    fine = c.flag("finegrained_output", default=True)
    less = fine and ratio_of(c, "depth_multiplier", default=1.0) < 1
    return Dim(1280) if less else _scaled(c, 1280)


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    widths = [_scaled(c, size) for size in _WIDTHS]
    wide = _scaled(c, 32)
    stem = {"first_conv": _conv(c, c.dim("num_channels", default=3), wide, 3)}
    if not c.flag("first_layer_is_expansion", default=True):
        stem["expand_1x1"] = _conv(c, wide, wide)
    blocks = []
    for inputs, outputs in pairwise(widths):
        inner = _scaled(c, inputs, "expand_ratio", 6.0, "expanded")
        parts = {"expand_1x1": _conv(c, inputs, inner), **_narrowed(c, inner, outputs)}
        blocks.append(Module(f"{_NAME}InvertedResidual", parts))
    first = Module(f"{_NAME}Stem", {**stem, **_narrowed(c, wide, widths[0])})
    last = {"layer": Layers(blocks), "conv_1x1": _conv(c, widths[-1], _last(c))}
    pool = Activation("AdaptiveAvgPool2d") if pooling else None
    return Module(f"{_NAME}Model", {"conv_stem": first, **last}, pooler=pool, part="vision")


def _segments(c: ModelConfig) -> Module:
    """DeepLabV3+'s head over the last block (the widest convolution is unused)."""
    inputs = _scaled(c, 320)
    plain = c.with_values(hidden_act="relu")
    convs = {"conv_pool": inputs, "conv_aspp": inputs, "conv_projection": 512}
    head = {name: _conv(plain, width, 256) for name, width in convs.items()}
    head["classifier"] = Module(f"{_NAME}ConvLayer", convolution=Conv(256, c.num_labels, 1))
    return as_head(Module(f"{_NAME}DeepLabV3Plus", {**head}, component=Component.HEAD))


_LABELS = {
    "dropout": lambda c: Dropout(c.number("classifier_dropout_prob", default=0.8)),
    "classifier": lambda c: labels_classifier(c, _last(c)),
}
_SEGMENTS: Form = {"mobilenet_v2": partial(model, pooling=False), "segmentation_head": _segments}
register_seeing(
    "mobilenet_v2", _NAME, model, ForImageClassification=_LABELS, ForSemanticSegmentation=_SEGMENTS
)
