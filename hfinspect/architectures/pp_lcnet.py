"""PP-LCNet, V3 and V4 (Cui et al. 2021; PaddleOCR 2025): convolutions of each channel on its own,
then of all at a point. V3 learns several next to each other, which are one when it is used; V4
widens between two convolutions of points. Source: transformers/models/pp_lcnet, _v3 and _v4."""

from collections.abc import Sequence
from functools import partial

from ..layers import convolutions
from ..layers.backbones import hands_on, staged
from ..layers.blocks import activation, size
from ..layers.convolutions import Entry, affine, conv_layer, divisible, rectifier
from ..layers.heads import classifier
from ..trees import Component, Dim, ModelConfig, named, register
from ..trees.modules import Activation, BatchNorm, Conv, Layers, Module, ModuleList
from .hgnet_v2 import stem

_BlockRows = Sequence[Sequence[object]]
_FIRST: list[_BlockRows] = [
    [[3, 16, 32, 1, False]],
    [[3, 32, 64, 2, False], [3, 64, 64, 1, False]],
    [[3, 64, 128, 2, False], [3, 128, 128, 1, False]],
]
_FOURTH: _BlockRows = [[3, 128, 256, 2, False], *[[5, 256, 256, 1, False]] * 5]
_LAST: _BlockRows = [[5, 256, 512, 2, True], [5, 512, 512, 1, True]]
BLOCKS: dict[str, list[_BlockRows]] = {
    "PPLCNet": [*_FIRST, _FOURTH, _LAST],
    "PPLCNetV3": [*_FIRST, _FOURTH[:-1], [*_LAST, *[[5, 512, 512, 1, False]] * 2]],
    "PPLCNetV4": [
        [[3, 96, 96, 1, True]],
        [[3, 96, 96, 1, False]] * 2,
        [[3, 96, 192, [2, 1], False], *[[3, 192, 192, 1, i % 2 == 0] for i in range(6)]],
        [[3, 192, 384, [2, 1], False], [3, 384, 384, 1, True], [3, 384, 384, 1, False]],
    ],
}
TYPES = {"pp_lcnet": "PPLCNet", "pp_lcnet_v3": "PPLCNetV3", "pp_lcnet_v4": "PPLCNetV4"}
#: What composites make of a section that is absent, next to its model_type.
LAST_FOUR: dict[str, object] = {"divisor": 16, "out_indices": [2, 3, 4, 5]}
LAST_FOUR["out_features"] = ["stage2", "stage3", "stage4", "stage5"]
_stem = size("stem_channels", default=16)


def stages(c: ModelConfig, name: str) -> list[list[Entry]]:
    """Of each block: kernel, widths in and out, stride, and whether channels are weighed."""
    lists = convolutions.block_lists(c, "block_configs", BLOCKS[name], 5)
    if len(lists) != len(BLOCKS[name]):
        raise c.miscounted("block_configs", len(lists), f"{len(BLOCKS[name])} stages")
    return lists


def features(c: ModelConfig) -> tuple[Dim, ...]:
    """The width that is reported of each stage: not rounded, as the convolutions' are."""
    scale = c.number("scale", default=1.0)
    text = ("int(scale * width)", "of the last block")
    widths = [blocks[-1][2] for blocks in stages(c, TYPES[str(c.kind)])]
    return tuple(width if scale == 1 else named(int(int(width) * scale), *text) for width in widths)


def act(c: ModelConfig) -> str:
    return c.text("hidden_act", default="hardswish") or "hardswish"


def _weighed(name: str, c: ModelConfig, channels: Dim, weighed: Dim) -> Module:
    """A weight for each channel, from the mean of all: 2·C²/r weights and C/r + C biases."""
    reduced = channels // c.dim("reduction", default=4)
    first = Conv(channels, reduced, 1)
    last = Conv(reduced, channels, 1)
    row = ModuleList([first, Activation("ReLU"), last, Activation("Hardsigmoid")])
    parts = {"avg_pool": Activation("AdaptiveAvgPool2d"), "convolutions": row}
    module = Module(f"{name}SqueezeExcitationModule", parts, component=Component.CONV)
    return module if weighed else Activation("Identity")


def channels_and_points(name: str, c: ModelConfig, entry: Entry) -> Module:
    """V3 adds several convolutions of one size, one of a point and the input itself."""
    kernel = entry[0]
    inputs = divisible(c, entry[1])
    outputs = divisible(c, entry[2])

    def learned(outputs: Dim, kernel: int = 1, stride: int = 1, groups: int = 1) -> Module:
        same = int(inputs) == int(outputs) and int(stride) == 1
        to = partial(conv_layer, name, inputs, outputs, groups=groups)
        return Module(
            f"{name}LearnableRepLayer",
            identity=BatchNorm(inputs) if same else None,
            conv_symmetric=ModuleList([to(kernel)] * int(count)),
            conv_small_symmetric=to(1) if int(kernel) > 1 else None,
            lab=affine(name),
            act=Module(f"{name}ActLearnableAffineBlock", act=rectifier(act(c)), lab=affine(name)),
            component=Component.CONV,
        )

    if name == "PPLCNetV3":
        count = c.count("conv_symmetric_num", default=4)
        each = learned(inputs, kernel, entry[3], inputs)
        points = learned(outputs)
    else:
        each = conv_layer(name, inputs, inputs, kernel, groups=inputs, act=act(c))
        points = conv_layer(name, inputs, outputs, 1, act=act(c))
    return convolutions.separable(name, each, _weighed(name, c, inputs, entry[4]), points)


def token_and_channels(name: str, c: ModelConfig, entry: Entry) -> Module:
    """V4's: without a norm where it neither widens nor shrinks."""
    kernel, inputs, outputs, stride, weighed = entry
    same = int(inputs) == int(outputs) and int(stride) == 1
    to = partial(conv_layer, name)
    token = to(inputs, inputs, kernel, groups=inputs, learned=False)
    parts = {
        "token_conv": Conv(inputs, outputs, kernel, groups=inputs) if same else token,
        "token_squeeze_excitation": _weighed(name, c, inputs, weighed),
        "channel_conv1": to(inputs, inputs * 2, 1, learned=False),
        "channel_act_fn": activation("gelu"),
        "channel_conv2": to(inputs * 2, outputs, 1, learned=False),
    }
    return Module(f"{name}DepthwiseSeparableConvLayer", parts, component=Component.CONV)


def network(name: str, ending: str, c: ModelConfig) -> Module:
    stage_entries = stages(c, name)
    fourth = name == "PPLCNetV4"
    attribute, build = ("blocks", token_and_channels) if fourth else ("layers", channels_and_points)
    lists = [ModuleList(build(name, c, entry) for entry in entries) for entries in stage_entries]
    blocks = Layers(Module(f"{name}Block", {attribute: entries_of}) for entries_of in lists)
    if fourth:
        form = c.word("stem_type", "large", "small")
        stem_parts = stem(name, c, (3, 48, 96), small=form == "small")
        first = Module(f"{name}{form.title()}Stem", stem_parts, component=Component.CONV)
    else:
        known = act(c) if name == "PPLCNet" else None
        first = conv_layer(name, 3, divisible(c, _stem(c)), 3, act=known)
    encoder = Module(f"{name}Encoder", convolution=first, blocks=blocks)
    root = Module(f"{name}{ending}", encoder=encoder, part="vision")
    if ending == "Backbone":
        return root
    wide = c.dim("class_expand", default=1280)
    flat = Activation("Flatten")
    last = Conv(divisible(c, stage_entries[-1][-1][2]), wide, 1, bias=False)
    root.adding(avg_pool=Activation("AdaptiveAvgPool2d"), last_convolution=last)
    return root.adding(act_fn=rectifier(act(c)), flatten=flat, head=classifier(wide, c.num_labels))


for model_type, prefix in TYPES.items():
    tasks = ("Backbone", "ForImageClassification")[: 2 if prefix == "PPLCNet" else 1]
    classes = {f"{prefix}{ending}": partial(network, prefix, ending) for ending in tasks}
    hands_on(model_type, lambda c: staged(c, (_stem(c), *features(c))))
    register(model_type, classes, base=f"{prefix}Backbone", category="vision")
