"""EfficientNet (Tan, Le 2019): B0's inverted residuals, made wider and deeper by two coefficients.
Source of shapes: transformers/models/efficientnet/modeling_efficientnet.py."""

import math

from ..core.config import MAX_COUNT
from ..layers.blocks import activation, size
from ..layers.vision import labels_classifier, multiple, ratio_of, register_seeing
from ..trees import Component, Dim, ModelConfig, config_defaults, named
from ..trees.modules import Activation, BatchNorm, Conv, Dropout, Layers, Module

_LISTS = config_defaults("efficientnet")
_NAME = "EfficientNet"
_last = size("hidden_dim", default=2560)


def rounded(c: ModelConfig, width: Dim | int) -> Dim:
    ratio = ratio_of(c, "width_coefficient", default=2.0)
    channels = multiple(int(width) * ratio, int(c.dim("depth_divisor", default=8)))
    text = f"width_coefficient = {ratio:g} times {int(width)}, rounded to depth_divisor"
    return named(channels, f"width({int(width)})", text)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return BatchNorm(width, eps=c.number("batch_norm_eps", default=0.001))


def _act(c: ModelConfig) -> Module:
    return activation(c.text("hidden_act", default="swish"))


def block(c: ModelConfig, inputs: Dim, outputs: Dim, kernel: Dim, ratio: Dim) -> Module:
    expands = int(ratio) != 1
    act = _act(c)
    pad = Activation("ZeroPad2d")
    wide = inputs * ratio if expands else inputs
    share = ratio_of(c, "squeeze_expansion_ratio", default=0.25)
    reduced_width = max(1, int(int(inputs) * share))
    meaning = f"{share:g} of {int(inputs)}"
    reduced = named(reduced_width, "int(squeeze_expansion_ratio * inputs)", meaning)
    class_name = f"{_NAME}DepthwiseConv2d"
    each = Conv(wide, wide, int(kernel), groups=int(wide), bias=False, class_name=class_name)
    wider = {"expand_conv": Conv(inputs, wide, 1, bias=False), "expand_bn": _norm(c, wide)}
    deep = {"depthwise_conv_pad": pad, "depthwise_conv": each, "depthwise_norm": _norm(c, wide)}
    last = {"project_conv": Conv(wide, outputs, 1, bias=False), "project_bn": _norm(c, outputs)}
    drop = Dropout(c.number("drop_connect_rate", default=0.2))
    sides = {"reduce": Conv(wide, reduced, 1), "expand": Conv(reduced, wide, 1)}
    acts = {"act_reduce": act, "act_expand": Activation("Sigmoid")}
    weigh = {"squeeze": Activation("AdaptiveAvgPool2d"), **sides, **acts}
    return Module(
        f"{_NAME}Block",
        expansion=Module(f"{_NAME}ExpansionLayer", wider, expand_act=act) if expands else None,
        depthwise_conv=Module(f"{_NAME}DepthwiseLayer", deep, depthwise_act=act),
        squeeze_excite=Module(f"{_NAME}SqueezeExciteLayer", weigh),
        projection=Module(f"{_NAME}FinalBlockLayer", last, dropout=drop),
        component=Component.CONV,
    )


def model(c: ModelConfig) -> Module:
    first = rounded(c, 32)
    channels = c.dim("num_channels", default=3)
    count = max(len(c.dims("in_channels", default=_LISTS["in_channels"])), 1)
    lists = {key: c.dims(key, default=sizes, least=count)[:count] for key, sizes in _LISTS.items()}
    deeper = ratio_of(c, "depth_coefficient", default=3.1)
    depths = [math.ceil(deeper * int(n)) for n in lists["num_block_repeats"]]
    if sum(depths) > MAX_COUNT:
        raise c.error("num_block_repeats", c.raw("num_block_repeats"), f"at most {MAX_COUNT:,}")
    blocks = []
    outputs = first
    top = rounded(c, 1280)
    for i, kernel in enumerate(lists["kernel_sizes"]):
        inputs, outputs = (rounded(c, lists[f"{way}_channels"][i]) for way in ("in", "out"))
        ratio = lists["expand_ratios"][i]
        rest = block(c, outputs, outputs, kernel, ratio)
        blocks += [block(c, inputs, outputs, kernel, ratio), *[rest] * (depths[i] - 1)]
    stem = Conv(channels, first, 3, stride=2, bias=False)
    parts = {"padding": Activation("ZeroPad2d"), "convolution": stem, "batchnorm": _norm(c, first)}
    parts["activation"] = _act(c)
    embeddings = Module(f"{_NAME}Embeddings", parts, component=Component.EMBEDDING)
    last = {"top_conv": Conv(outputs, top, 1, bias=False), "top_bn": _norm(c, _last(c))}
    encoder = Module(f"{_NAME}Encoder", {"blocks": Layers(blocks), **last}, top_activation=_act(c))
    return Module(f"{_NAME}Model", embeddings=embeddings, encoder=encoder, part="vision")


_LABELS = {
    "dropout": lambda c: Dropout(c.number("dropout_rate", default=0.5)),
    "classifier": lambda c: labels_classifier(c, _last(c)),
}
register_seeing("efficientnet", _NAME, model, ForImageClassification=_LABELS)
