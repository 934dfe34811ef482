"""Depth Anything (Yang et al. 2024). Source: transformers/models/depth_anything.

DINOv2, four of whose layers are resized, fused from coarse to fine, and read by three convolutions.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.reassembling import depth_head, neck, reassembled
from ..trees.catalog import auto_class, register
from ..trees.modules import Conv, Module

#: What DepthAnythingConfig makes of an absent backbone_config: DINOv2 small at 518 pixels.
BACKBONE = {"image_size": 518, "hidden_size": 384, "num_attention_heads": 6}


def _fusion(name: str, fused: Dim, prompted: Module | None) -> Module:
    """``prompted`` is what each fusion layer has in addition."""
    residual = Module(
        f"{name}PreActResidualLayer",
        convolution1=Conv(fused, fused, 3),
        convolution2=Conv(fused, fused, 3),
    )
    return Module(
        f"{name}FeatureFusionLayer",
        projection=Conv(fused, fused, 1),
        residual_layer1=residual,
        residual_layer2=residual,
        prompt_depth_layer=prompted,
    )


def estimator(c: ModelConfig, name: str, prompted: Module | None = None) -> Module:
    section = c.section("backbone_config", default=BACKBONE)
    fused = c.dim("fusion_hidden_size", default=64)
    widths = c.dims("neck_hidden_sizes", default=(48, 96, 192, 384))
    layers = reassembled(name, c, c.dim("reassemble_hidden_size", default=384), widths)
    stage = Module(f"{name}ReassembleStage", layers=layers)
    return Module(
        f"{name}ForDepthEstimation",
        backbone=auto_class(section, "Backbone", default_type="dinov2", part="vision"),
        neck=neck(name, stage, widths, fused, _fusion(name, fused, prompted)),
        head=depth_head(name, fused, c.dim("head_hidden_size", default=32)),
        part="vision",
    )


def model(c: ModelConfig) -> Module:
    return estimator(c, "DepthAnything")


register("depth_anything", {"DepthAnythingForDepthEstimation": model}, category="vision")
