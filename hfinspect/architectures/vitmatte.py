"""ViTMatte (Yao et al. 2023): ViTDet, whose map is enlarged step by step, each time next to a map
of a few convolutions over the image and its trimap. Source: transformers/models/vitmatte."""

from itertools import pairwise

from ..trees import Component, ModelConfig, auto_class, register
from ..trees.modules import Activation, BatchNorm, Conv, Module, ModuleList, Sequential


def model(c: ModelConfig) -> Module:
    def conv(inputs: int, outputs: int, stride: int = 2) -> Module:
        conv = Conv(inputs, outputs, 3, bias=False, stride=stride)
        norm = BatchNorm(outputs)
        parts = {"conv": conv, "batch_norm": norm, "relu": Activation("ReLU")}
        return Module("VitMatteBasicConv3x3", parts)

    section = c.section("backbone_config")
    network = auto_class(section, "Backbone", default_type="vitdet", part="vision")
    widths = c.dims("convstream_hidden_sizes", default=(48, 96, 192))
    fused = c.dims("fusion_hidden_sizes", default=(256, 128, 64, 32), count=len(widths) + 1)
    maps = (section.dim("num_channels", default=3), *widths)
    inputs = (c.dim("hidden_size", default=384), *fused)
    steps = [
        Module("VitMatteFusionBlock", conv=conv(came + pixels, outputs, 1))
        for came, pixels, outputs in zip(inputs, reversed(maps), fused, strict=False)
    ]
    convs = ModuleList(conv(*both) for both in pairwise(maps))
    head = Component.HEAD
    convolved = (Conv(fused[-1], 16, 3, component=head), BatchNorm(16), Activation("ReLU"))
    matting = Sequential(*convolved, Conv(16, 1, 1, component=head))
    parts = {"convstream": Module("VitMatteConvStream", convs=convs)}
    parts["fusion_blocks"] = ModuleList(steps)
    parts["matting_head"] = Module("VitMatteHead", matting_convs=matting, component=head)
    name = "VitMatteDetailCaptureModule"
    at = Component.CONV
    decoder = Module(name, parts, component=at, part="projector")
    return Module("VitMatteForImageMatting", backbone=network, decoder=decoder, part="vision")


register("vitmatte", {"VitMatteForImageMatting": model}, category="vision")
