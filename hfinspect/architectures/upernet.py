"""UPerNet (Xiao et al. 2018): a head for segmentation over any backbone, and a second, plain one
for training. Source: transformers/models/upernet/modeling_upernet.py."""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.backbones import backbone
from ..layers.pyramids import normed, plain_head, uper_head
from ..trees.catalog import register
from ..trees.modules import Module

_NAME, _CLASS = "UperNet", "UperNetForSemanticSegmentation"
#: What UperNetConfig makes of an absent backbone_config.
BACKBONE = {
    "model_type": "resnet", "out_features": ["stage1", "stage2", "stage3", "stage4"],
}  # fmt: skip
_CONV = normed(f"{_NAME}ConvModule", "conv", "batch_norm")


def auxiliary_head(c: ModelConfig, widths: tuple[Dim, ...]) -> Module | None:
    """For training, from the third map."""
    if not c.flag("use_auxiliary_head", default=True):
        return None
    if not c.has("auxiliary_in_channels") and len(widths) < 3:
        raise c.error("backbone_config", f"{len(widths)} maps", "3 or more for the auxiliary head")
    seen = c.dim("auxiliary_in_channels", default=widths[2] if len(widths) > 2 else None)
    head = plain_head(f"{_NAME}FCNHead", c, seen, _CONV)
    convs = head.inside("convs")
    convs.class_name = "Sequential" if convs.children else "Identity"
    return head


def segmentation(c: ModelConfig) -> Module:
    section = c.section("backbone_config", default=BACKBONE)
    network, widths = backbone(section, default_type="resnet", least=1)
    head = uper_head(f"{_NAME}Head", c, c.dim("hidden_size", default=512), widths, _CONV)
    pooled = head.inside("psp_modules").called(f"{_NAME}PyramidPoolingModule")
    for scale in pooled.children:
        pooled.inside(scale).called(f"{_NAME}PyramidPoolingBlock")
    heads = {"decode_head": head, "auxiliary_head": auxiliary_head(c, widths)}
    return Module(_CLASS, {"backbone": network, **heads}, part="vision")


register("upernet", {_CLASS: segmentation}, category="vision")
