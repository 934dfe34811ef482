"""UPerNet (Xiao et al. 2018): a head for segmentation over any backbone.
Source: transformers/models/upernet/modeling_upernet.py.

The last map is pooled at several scales, all maps are added from coarse to fine; a second, plain
head is there for training.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.backbones import backbone
from ..trees.catalog import register
from ..trees.modules import Activation, BatchNorm, Conv, Module, ModuleList, Sequential

_NAME = "UperNet"
#: What UperNetConfig makes of an absent backbone_config.
BACKBONE = {
    "model_type": "resnet", "out_features": ["stage1", "stage2", "stage3", "stage4"],
}  # fmt: skip


def _conv(inputs: int, outputs: int, kernel: int = 3) -> Module:
    return Module(
        f"{_NAME}ConvModule",
        conv=Conv(inputs, outputs, kernel, bias=False, component=Component.HEAD),
        batch_norm=BatchNorm(outputs),
        activation=Activation("ReLU"),
    )


def _labels(c: ModelConfig, width: Dim) -> Module:
    return Conv(width, c.num_labels, 1, component=Component.HEAD, kind="classifier")


def decode_head(c: ModelConfig, widths: tuple[Dim, ...]) -> Module:
    h, last = c.dim("hidden_size", default=512), widths[-1]
    scales = len(c.dims("pool_scales", default=(1, 2, 3, 6)))
    pooled = Sequential(
        Activation("AdaptiveAvgPool2d"), _conv(last, h, 1), class_name=f"{_NAME}PyramidPoolingBlock"
    )
    return Module(
        f"{_NAME}Head",
        classifier=_labels(c, h),
        psp_modules=ModuleList([pooled] * scales, class_name=f"{_NAME}PyramidPoolingModule"),
        bottleneck=_conv(last + scales * h, h),
        lateral_convs=ModuleList(_conv(width, h, 1) for width in widths[:-1]),
        fpn_convs=ModuleList([_conv(h, h)] * (len(widths) - 1)),
        fpn_bottleneck=_conv(len(widths) * h, h),
        component=Component.HEAD,
    )


def auxiliary_head(c: ModelConfig, widths: tuple[Dim, ...]) -> Module | None:
    """For training, from the third map."""
    if not c.flag("use_auxiliary_head", default=True):
        return None
    if not c.has("auxiliary_in_channels") and len(widths) < 3:
        raise c.error("backbone_config", f"{len(widths)} maps", "3 or more for the auxiliary head")
    seen = c.dim("auxiliary_in_channels", default=widths[2] if len(widths) > 2 else None)
    width, count = (
        c.dim("auxiliary_channels", default=256),
        int(c.count("auxiliary_num_convs", default=1)),
    )
    joined = c.flag("auxiliary_concat_input", default=False)
    convs = [_conv(seen, width), *[_conv(width, width)] * (count - 1)] if count else []
    return Module(
        f"{_NAME}FCNHead",
        convs=Sequential(*convs) if convs else Activation("Identity"),
        conv_cat=_conv(seen + width, width) if joined else None,
        classifier=_labels(c, width),
        component=Component.HEAD,
    )


def segmentation(c: ModelConfig) -> Module:
    section = c.section("backbone_config", default=BACKBONE)
    network, widths = backbone(section, default_type="resnet")
    if not widths:
        raise c.error("backbone_config", "no maps", "out_indices or out_features of 1 or more")
    return Module(
        f"{_NAME}ForSemanticSegmentation",
        backbone=network,
        decode_head=decode_head(c, widths),
        auxiliary_head=auxiliary_head(c, widths),
        part="vision",
    )


register("upernet", {f"{_NAME}ForSemanticSegmentation": segmentation}, category="vision")
