"""UVDoc (Verhoeven et al. 2023): how a photographed page is bent. Residual blocks, branches of ever
wider steps over them, a map of points. Source: transformers/models/uvdoc/modeling_uvdoc.py."""

from functools import partial

from ..layers.convolutions import Entry, block_lists, conv_layer, entry_lists
from ..trees import Component, ModelConfig, register_part
from ..trees.modules import Activation, Conv, Layers, Module, ModuleList

_NAME = "UVDoc"
_RESNET = tuple(
    ((inputs, width, 1, inputs != width), *[(width, width, 3, False)] * more)
    for inputs, width, more in ((32, 32, 2), (32, 64, 3), (64, 128, 5))
)
_STEPS = ((1,), (2,), (5,), (8, 3, 2), (12, 7, 4), (18, 12, 6))
_BRIDGES = tuple(tuple((128, step) for step in steps) for steps in _STEPS)


def backbone(c: ModelConfig) -> Module:
    """Each branch behind the ResNet: convolutions of one width, with steps between their points."""
    size = c.dim("kernel_size", default=5)
    to = partial(conv_layer, _NAME)

    def block(entry: Entry) -> Module:
        inputs, outputs, _, smaller = entry
        layer = partial(to, outputs=outputs, kernel=size, bias=True)
        act = Activation("ReLU")
        down = layer(inputs) if smaller else Activation("Identity")
        convs = {"conv_down": down, "conv_start": layer(inputs, act="relu")}
        return Module(f"{_NAME}ResidualBlock", convs, conv_final=layer(outputs), act_fn=act)

    pairs = entry_lists(c, "resnet_head", ((3, 32), (32, 32)), 2)
    head = ModuleList(to(inputs, outputs, size, act="relu") for inputs, outputs in pairs)
    stages = [
        Module(f"{_NAME}ResNetStage", layers=Layers([block(entry) for entry in entries]))
        for entries in block_lists(c, "resnet_configs", _RESNET, 4)
    ]
    branches = [
        Layers(to(width, width, act="relu") for width, _ in entries)
        for entries in block_lists(c, "stage_configs", _BRIDGES, 2)
    ]
    bridge = ModuleList(Module(f"{_NAME}BridgeBlock", blocks=blocks) for blocks in branches)
    resnet = Module(f"{_NAME}ResNet", resnet_head=head, resnet_down=ModuleList(stages))
    parts = {"resnet": resnet, "bridge": Module(f"{_NAME}Bridge", bridge=bridge)}
    return Module(f"{_NAME}Backbone", parts, part="vision")


def model(c: ModelConfig) -> Module:
    """Two numbers for each place: where on the page it is."""
    section = c.section("backbone_config").of_type("uvdoc_backbone")
    ends = c.dims("bridge_connector", default=(128, 128), least=2)
    wide = ends[0] * len(block_lists(section, "stage_configs", _BRIDGES, 2))
    pairs = entry_lists(c, "out_point_positions2D", ((128, 32), (32, 2)), 2)
    if len(pairs) < 2:
        raise c.miscounted("out_point_positions2D", len(pairs), "two pairs")
    (inputs, inner), (before, outputs) = pairs[:2]
    act = c.text("hidden_act", default="prelu")
    kernel = c.dim("kernel_size", default=5)
    to = partial(conv_layer, _NAME, component=Component.HEAD)
    points = Module(f"{_NAME}PointPositions2D", conv_down=to(inputs, inner, kernel, act=act))
    points.adding(conv_up=Conv(before, outputs, kernel, component=Component.HEAD))
    parts = {"bridge_connector": to(wide, ends[1], 1, act="relu"), "out_point_positions2D": points}
    head = Module(f"{_NAME}Head", parts, component=Component.HEAD)
    return Module(f"{_NAME}Model", backbone=backbone(section), head=head, part="vision")


register_part("uvdoc", f"{_NAME}Model", model, "vision")
register_part("uvdoc_backbone", f"{_NAME}Backbone", backbone, "vision")
