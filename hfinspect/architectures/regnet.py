"""RegNet (Radosavovic et al. 2020). Source: transformers/models/regnet/modeling_regnet.py.

ResNet's stages without its bottleneck: 1x1, grouped 3x3, 1x1, all as wide as the stage; "y" layers
weigh their channels before the last (squeeze and excitation).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import activation
from ..layers.vision import labels_classifier, stage_depths
from ..trees.catalog import register
from ..trees.modules import Activation, BatchNorm, Conv, Layers, Module, Sequential


def convolution(
    inputs: int, outputs: int, kernel: int, *, act: str | None, groups: int = 1
) -> Module:
    return Module(
        "RegNetConvLayer",
        convolution=Conv(inputs, outputs, kernel, groups=groups, bias=False),
        normalization=BatchNorm(outputs),
        activation=activation(act) if act else Activation("Identity"),
        component=Component.CONV,
    )


def _weighing(inputs: Dim, outputs: Dim) -> Module:
    """Attention to channels: the mean of each decides how much all of them count."""
    reduced = named(
        round(int(inputs) / 4), "round(inputs / 4)", f"a quarter of {int(inputs)}, rounded"
    )
    return Module(
        "RegNetSELayer",
        attention=Sequential(
            Conv(outputs, reduced, 1, component=None),
            Activation("ReLU"),
            Conv(reduced, outputs, 1, component=None),
            Activation("Sigmoid"),
        ),
        component=Component.ATTENTION,
    )


def block(c: ModelConfig, inputs: Dim, outputs: Dim, *, strided: bool) -> Module:
    act, kind = c.text("hidden_act", default="relu"), c.text("layer_type", default="y")
    if kind not in ("x", "y"):
        raise c.error("layer_type", kind, "x or y")
    groups = max(1, int(outputs) // int(c.dim("groups_width", default=64)))
    c.divided(outputs, groups, "hidden_sizes", "groups_width")
    shortcut = Module(
        "RegNetShortCut",
        convolution=Conv(inputs, outputs, 1, bias=False),
        normalization=BatchNorm(outputs),
        component=Component.CONV,
    )
    layers = [
        convolution(inputs, outputs, 1, act=act),
        convolution(outputs, outputs, 3, act=act, groups=groups),
        *([_weighing(inputs, outputs)] if kind == "y" else []),
        convolution(outputs, outputs, 1, act=None),
    ]
    projected = strided or int(inputs) != int(outputs)
    return Module(
        f"RegNet{kind.upper()}Layer",
        shortcut=shortcut if projected else Activation("Identity"),
        layer=Sequential(*layers),
        activation=activation(act),
    )


def widths(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("hidden_sizes", default=(128, 192, 512, 1088))
    if not found:
        raise c.error("hidden_sizes", [], "at least one width")
    return found


def stages(c: ModelConfig) -> Layers:
    sizes, depths = widths(c), stage_depths(c, (2, 6, 12, 2))
    before = (c.dim("embedding_size", default=32), *sizes)
    first = c.flag("downsample_in_first_stage", default=True)
    built = []
    # As many stages as both lists have, as zip does there.
    for i, (width, depth) in enumerate(zip(sizes, depths, strict=False)):
        entry = block(c, before[i], width, strided=first or i > 0)
        rest = block(c, width, width, strided=False)
        layers = Sequential(entry, *[rest] * max(int(depth) - 1, 0))
        built.append(Module("RegNetStage", layers=layers))
    return Layers(built)


def model(c: ModelConfig) -> Module:
    act = c.text("hidden_act", default="relu")
    channels, embedded = c.dim("num_channels", default=3), c.dim("embedding_size", default=32)
    return Module(
        "RegNetModel",
        embedder=Module("RegNetEmbeddings", embedder=convolution(channels, embedded, 3, act=act)),
        encoder=Module("RegNetEncoder", stages=stages(c)),
        pooler=Activation("AdaptiveAvgPool2d"),
        part="vision",
    )


def image_classification(c: ModelConfig) -> Module:
    return Module(
        "RegNetForImageClassification",
        regnet=model(c),
        classifier=Sequential(Activation("Flatten"), labels_classifier(c, widths(c)[-1])),
        part="vision",
    )


register(
    "regnet",
    {"RegNetForImageClassification": image_classification, "RegNetModel": model},
    base_prefix="regnet",
    category="vision",
)
