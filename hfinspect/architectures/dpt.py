"""DPT (Ranftl et al. 2021). Source of shapes: transformers/models/dpt/modeling_dpt.py.

A ViT of its own or another backbone; the outputs of some layers are resized, fused from coarse to
fine and read by a few convolutions.  Hybrids, which begin with a BiT network, are not known here.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.composing import renamed
from ..trees.catalog import auto_class, register
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    Dropout,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
    each_module,
)
from . import vit
from .depth_anything import reassembled

_READOUTS = ("ignore", "add", "project")


def _widths(c: ModelConfig) -> tuple[Dim, ...]:
    return c.dims("neck_hidden_sizes", default=(96, 192, 384, 768))


_fused = size("fusion_hidden_size", default=256)


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


def reassemble_stage(
    c: ModelConfig,
    name: str = "DPT",
    *,
    hidden: Dim | None = None,
    widths: tuple[Dim, ...] | None = None,
) -> Module:
    h, found = hidden or _hidden(c), widths or _widths(c)
    readout = c.text("readout_type", default="project")
    if readout not in _READOUTS:
        raise c.error("readout_type", readout, f"one of {', '.join(_READOUTS)}")
    project = Sequential(Linear(2 * h, h), activation(c.text("hidden_act", default="gelu")))
    return Module(
        f"{name}ReassembleStage",
        layers=reassembled(name, c, h, found),
        readout_projects=ModuleList([project] * len(found)) if readout == "project" else None,
    )


def fusion_layer(
    c: ModelConfig, name: str = "DPT", *, biased: bool | None = None, deconv: Module | None = None
) -> Module:
    """``biased`` is the config class's default; None and null say: where there is no norm."""
    fused, key = _fused(c), "use_bias_in_fusion_residual"
    normed = c.flag("use_batch_norm_in_fusion_residual", default=False)
    unsaid = not c.has(key) and (biased is None or c.says(key))
    bias = not normed if unsaid else c.flag(key, default=True)
    residual = Module(
        f"{name}PreActResidualLayer",
        activation1=Activation("ReLU"),
        convolution1=Conv(fused, fused, 3, bias=bias),
        activation2=Activation("ReLU"),
        convolution2=Conv(fused, fused, 3, bias=bias),
        batch_norm1=BatchNorm(fused) if normed else None,
        batch_norm2=BatchNorm(fused) if normed else None,
    )
    return Module(
        f"{name}FeatureFusionLayer",
        projection=Conv(fused, fused, 1),
        residual_layer1=residual,
        residual_layer2=residual,
        deconv=deconv,
    )


def neck(c: ModelConfig, name: str = "DPT") -> Module:
    widths = _widths(c)
    staged = c.section("backbone_config").model_type != "swinv2"
    return Module(
        f"{name}Neck",
        reassemble_stage=reassemble_stage(c, name) if staged else None,
        convs=ModuleList(Conv(width, _fused(c), 3, bias=False) for width in widths),
        fusion_stage=Module(
            f"{name}FeatureFusionStage", layers=Layers([fusion_layer(c, name)] * len(widths))
        ),
        component=Component.CONV,
        part="projector",
    )


# ---- heads


def as_head(root: Module) -> Module:
    """``root`` with its convolutions counted to the head, in place."""
    for module in each_module(root):
        if module.component is Component.CONV:
            module.component = Component.HEAD
    return root


def _convolution(inputs: int, outputs: int, kernel: int, *, bias: bool = True) -> Module:
    return Conv(inputs, outputs, kernel, bias=bias, component=Component.HEAD)


def depth_head(c: ModelConfig) -> Module:
    fused, added = _fused(c), c.flag("add_projection", default=False)
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
    fused = _fused(c)
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


def segmentation(c: ModelConfig) -> Module:
    second = c.flag("use_auxiliary_head", default=True)
    return Module(
        "DPTForSemanticSegmentation",
        dpt=_bare(c),
        neck=neck(c),
        head=_segments(c, "DPTSemanticSegmentationHead"),
        auxiliary_head=_segments(c, "DPTAuxiliaryHead") if second else None,
        part="vision",
    )


register(
    "dpt",
    {
        "DPTForDepthEstimation": depth_estimation,
        "DPTModel": model,
        "DPTForSemanticSegmentation": segmentation,
    },
    base_prefix="dpt",
    category="vision",
)
