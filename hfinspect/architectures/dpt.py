"""DPT (Ranftl et al. 2021). Source of shapes: transformers/models/dpt/modeling_dpt.py.

A ViT of its own or another backbone; the outputs of some layers are resized, fused from coarse to
fine and read by a few convolutions.  Hybrids, which begin with a BiT network, are not known here.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import reassembling
from ..layers.composing import Part, composed, renamed
from ..layers.reassembling import fused_width, fusion_layer, reassemble_stage
from ..trees.catalog import Builder, auto_class, register
from ..trees.modules import Activation, BatchNorm, Conv, Dropout, Module, Sequential
from . import vit


def _widths(c: ModelConfig) -> tuple[Dim, ...]:
    return c.dims("neck_hidden_sizes", default=(96, 192, 384, 768))


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    if c.flag("is_hybrid", default=False):
        raise c.error("is_hybrid", True, "false: hybrids are not in the catalog")
    plain = c.with_defaults(image_size=384)
    root = renamed(vit.model(plain, pooling=pooling), "ViT", "DPTViT")
    renamed(root, "DPTViTSelfAttention", "DPTSelfAttention")
    root.class_name = "DPTModel"
    return root


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


# ---- neck


def _hidden(c: ModelConfig) -> Dim:
    backbone = c.section("backbone_config")
    return vit.hidden_size(backbone if c.has("backbone_config") else c)


def neck(c: ModelConfig, name: str = "DPT") -> Module:
    widths = _widths(c)
    staged = c.section("backbone_config").model_type != "swinv2"
    stage = reassemble_stage(c, name, _hidden(c), widths) if staged else None
    return reassembling.neck(name, stage, widths, fused_width(c), fusion_layer(c, name))


# ---- heads


def _convolution(inputs: int, outputs: int, kernel: int, *, bias: bool = True) -> Module:
    return Conv(inputs, outputs, kernel, bias=bias, component=Component.HEAD)


def depth_head(c: ModelConfig) -> Module:
    fused, added = fused_width(c), c.flag("add_projection", default=False)
    return Module(
        "DPTDepthEstimationHead",
        projection=_convolution(256, 256, 3) if added else None,
        head=Sequential(
            _convolution(fused, fused // 2, 3),
            Activation("Upsample"),
            _convolution(fused // 2, 32, 3),
            Activation("ReLU"),
            _convolution(32, 1, 1),
            Activation("ReLU"),
        ),
        component=Component.HEAD,
    )


def _segments(c: ModelConfig, name: str) -> Module:
    fused = fused_width(c)
    return Module(
        name,
        head=Sequential(
            _convolution(fused, fused, 3, bias=False),
            BatchNorm(fused),
            Activation("ReLU"),
            Dropout(0.1),
            _convolution(fused, c.num_labels, 1),
        ),
        component=Component.HEAD,
    )


def depth_estimation(c: ModelConfig) -> Module:
    own = c.flag("is_hybrid", default=False) or not c.has("backbone_config")
    section = c.section("backbone_config")
    return Module(
        "DPTForDepthEstimation",
        backbone=None if own else auto_class(section, "Backbone", part="vision"),
        dpt=_bare(c) if own else None,
        neck=neck(c),
        head=depth_head(c),
        part="vision",
    )


def auxiliary_head(c: ModelConfig) -> Module | None:
    second = c.flag("use_auxiliary_head", default=True)
    return _segments(c, "DPTAuxiliaryHead") if second else None


_CLASSES: dict[str, Builder | dict[str, Part]] = {
    "DPTForDepthEstimation": depth_estimation,
    "DPTModel": model,
    "DPTForSemanticSegmentation": {
        "dpt": _bare,
        "neck": neck,
        "head": lambda c: _segments(c, "DPTSemanticSegmentationHead"),
        "auxiliary_head": auxiliary_head,
    },
}
register("dpt", composed(_CLASSES, part="vision"), base_prefix="dpt", category="vision")
