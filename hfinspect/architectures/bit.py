"""BiT (Kolesnikov et al. 2019). Source of shapes: transformers/models/bit/modeling_bit.py.
A ResNet with group norms, before the convolutions or after them, whose weights are standardised."""

from functools import partial

from ..layers.blocks import activation
from ..layers.vision import labels_classifier, multiple, register_seeing, stage_depths
from ..trees import Component, Dim, ModelConfig, named
from ..trees.modules import Activation, Conv, GroupNorm, Layers, Module, ModuleList, Sequential

_conv = partial(Conv, bias=False, class_name="WeightStandardizedConv2d")


def _sizes(c: ModelConfig) -> tuple[Dim, ...]:
    return c.dims("hidden_sizes", default=(256, 512, 1024, 2048), least=1)


def rounded(size: int, label: str) -> Dim:
    return named(multiple(int(size), 8), label, f"{int(size)} rounded to a multiple of 8")


def _norm(c: ModelConfig, width: Dim) -> Module:
    groups = c.dim("num_groups", default=32)
    c.divided(width, groups, "the channels", "num_groups")
    return GroupNorm(int(groups), width).called("BitGroupNormActivation")


def _layer(c: ModelConfig, inputs: Dim, outputs: Dim, *, before: bool, first: bool) -> Module:
    inner = rounded(int(outputs) // 4 if outputs % 4 == 0 else int(outputs * 0.25), "bottleneck")
    convs = (_conv(inputs, inner, 1), _conv(inner, inner, 3), _conv(inner, outputs, 1))
    widths = (inputs, inner, inner) if before else (inner, inner, outputs)
    normed = Activation("Identity") if before else _norm(c, outputs)
    down = Module("BitDownsampleConv", conv=_conv(inputs, outputs, 1), norm=normed)
    parts: dict[str, Module | None] = {"downsample": down if first else None}
    for i, (conv, width) in enumerate(zip(convs, widths, strict=True), 1):
        pair = {f"norm{i}": _norm(c, width), f"conv{i}": conv}
        parts.update(pair if before else dict(reversed(pair.items())))
    if not before:
        parts["activation"] = activation(c.text("hidden_act", default="relu"))
    kind = "PreActivation" if before else ""
    return Module(f"Bit{kind}BottleneckLayer", parts, component=Component.CONV)


def model(c: ModelConfig) -> Module:
    width = c.dim("embedding_size", default=64)
    factor = c.dim("width_factor", default=1)
    before = c.word("layer_type", "preactivation", "bottleneck") == "preactivation"
    plain = Activation("Identity")
    stages = []
    inputs = width
    # As many stages as both lists have, as zip does there.
    for depth, size in zip(stage_depths(c, (3, 4, 6, 3)), _sizes(c), strict=False):
        outputs = rounded(size * factor, "width of the stage")
        later = [_layer(c, outputs, outputs, before=before, first=False)] * (int(depth) - 1)
        layers = [_layer(c, inputs, outputs, before=before, first=True), *later] if depth else []
        stages.append(Module("BitStage", layers=ModuleList(layers, class_name="Sequential")))
        inputs = outputs
    stem = _conv(c.dim("num_channels", default=3), width, 7, stride=2)
    embedding = {"convolution": stem, "pooler": Activation("BitMaxPool2d")}
    embedding["norm"] = plain if before else _norm(c, width)
    embedder = Module("BitEmbeddings", embedding, component=Component.EMBEDDING)
    parts = {"embedder": embedder, "encoder": Module("BitEncoder", stages=Layers(stages))}
    parts["norm"] = _norm(c, _sizes(c)[-1]) if before else plain
    return Module("BitModel", parts, pooler=Activation("AdaptiveAvgPool2d"), part="vision")


def _head(c: ModelConfig) -> Module:
    return Sequential(Activation("Flatten"), labels_classifier(c, _sizes(c)[-1]))


register_seeing("bit", "Bit", model, ForImageClassification={"classifier": _head}, Backbone={})
