"""ResNet (He et al. 2015). Source of shapes: transformers/models/resnet/modeling_resnet.py.

Blocks of two 3x3 convolutions (basic) or of 1x1, 3x3, 1x1 at a quarter of the width (bottleneck),
each followed by batch norm, with a projected shortcut where size or width change.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import labels_classifier, stage_depths
from ..trees.catalog import register
from ..trees.modules import Activation, BatchNorm, Conv, Layers, Module, Sequential


def convolution(inputs: int, outputs: int, kernel: int = 3, *, act: str | None = "relu") -> Module:
    return Module(
        "ResNetConvLayer",
        convolution=Conv(inputs, outputs, kernel, bias=False),
        normalization=BatchNorm(outputs),
        activation=activation(act) if act else Activation("Identity"),
        component=Component.CONV,
    )


def block(c: ModelConfig, inputs: Dim, outputs: Dim, *, resized: bool) -> Module:
    act = c.text("hidden_act", default="relu")
    shortcut = Module(
        "ResNetShortCut",
        convolution=Conv(inputs, outputs, 1, bias=False),
        normalization=BatchNorm(outputs),
        component=Component.CONV,
    )
    projected = resized or int(inputs) != int(outputs)
    kind = c.text("layer_type", default="bottleneck")
    if kind not in ("basic", "bottleneck"):
        raise c.error("layer_type", kind, "basic or bottleneck")
    narrow = outputs // 4
    if kind == "bottleneck" and not narrow:
        raise c.error("hidden_sizes", int(outputs), "at least 4 for bottleneck layers")
    layers = (
        Sequential(
            convolution(inputs, narrow, 1, act=act),
            convolution(narrow, narrow, act=act),
            convolution(narrow, outputs, 1, act=None),
        )
        if kind == "bottleneck"
        else Sequential(
            convolution(inputs, outputs, act=act), convolution(outputs, outputs, act=None)
        )
    )
    return Module(
        "ResNetBottleNeckLayer" if kind == "bottleneck" else "ResNetBasicLayer",
        shortcut=shortcut if projected else Activation("Identity"),
        layer=layers,
    )


def widths(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("hidden_sizes", default=(256, 512, 1024, 2048))
    if not found:
        raise c.error("hidden_sizes", [], "at least one width")
    return found


def stages(c: ModelConfig) -> Layers:
    sizes, depths = widths(c), stage_depths(c, (3, 4, 6, 3))
    first = c.flag("downsample_in_first_stage", default=False)
    built = []
    # As many stages as both lists have, as zip does there.
    for i, (width, depth) in enumerate(zip(sizes, depths, strict=False)):
        before = sizes[i - 1] if i else c.dim("embedding_size", default=64)
        entry = block(c, before, width, resized=first or i > 0)
        rest = block(c, width, width, resized=False)
        layers = Sequential(entry, *[rest] * max(int(depth) - 1, 0))
        built.append(Module("ResNetStage", layers=layers))
    return Layers(built)


def model(c: ModelConfig, *, name: str = "ResNetModel") -> Module:
    embedded = c.dim("embedding_size", default=64)
    act = c.text("hidden_act", default="relu")
    return Module(
        name,
        embedder=Module(
            "ResNetEmbeddings",
            embedder=convolution(c.dim("num_channels", default=3), embedded, 7, act=act),
            pooler=Activation("MaxPool2d"),
        ),
        encoder=Module("ResNetEncoder", stages=stages(c)),
        part="vision",
    )


def image_classification(c: ModelConfig) -> Module:
    return Module(
        "ResNetForImageClassification",
        resnet=model(c),
        classifier=Sequential(Activation("Flatten"), labels_classifier(c, widths(c)[-1])),
        part="vision",
    )


def backbone(c: ModelConfig) -> Module:
    return model(c, name="ResNetBackbone")


register(
    "resnet",
    {
        "ResNetForImageClassification": image_classification,
        "ResNetModel": model,
        "ResNetBackbone": backbone,
    },
    base_prefix="resnet",
    category="vision",
)
