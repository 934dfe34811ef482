"""UPerNet (Xiao et al. 2018): a head for segmentation over any backbone, and a second, plain one
for training. Source: transformers/models/upernet/modeling_upernet.py."""

from ..layers.backbones import backbone
from ..layers.pyramids import normed, plain_head, uper_head
from ..trees import ModelConfig, Module, register

_NAME = "UperNet"
_CLASS = "UperNetForSemanticSegmentation"
_CONV = normed(f"{_NAME}ConvModule", "conv", "batch_norm")


def segmentation(c: ModelConfig) -> Module:
    usual = {"model_type": "resnet", "out_features": [f"stage{i}" for i in range(1, 5)]}
    section = c.section("backbone_config", default=usual)
    network, widths = backbone(section, default_type="resnet", least=1)
    head = uper_head(f"{_NAME}Head", c, c.dim("hidden_size", default=512), widths, _CONV)
    pooled = head.inside("psp_modules").called(f"{_NAME}PyramidPoolingModule")
    for scale in pooled.children:
        pooled.inside(scale).called(f"{_NAME}PyramidPoolingBlock")
    root = Module(_CLASS, backbone=network, decode_head=head, part="vision")
    if c.flag("use_auxiliary_head", default=True):  # for training, from the third map
        if not c.has(key := "auxiliary_in_channels") and len(widths) < 3:
            raise c.error("backbone_config", f"{len(widths)} maps", "3 or more for the second head")
        inputs = c.dim(key, default=widths[2] if len(widths) > 2 else None)
        second = plain_head(f"{_NAME}FCNHead", c, inputs, _CONV)
        convs = second.inside("convs")
        convs.called("Sequential" if convs.children else "Identity")
        root.adding(auxiliary_head=second)
    return root


register("upernet", {_CLASS: segmentation}, category="vision")
