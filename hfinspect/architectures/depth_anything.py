"""Depth Anything (Yang et al. 2024). Source: transformers/models/depth_anything.

DINOv2, four of whose layers are resized, fused from coarse to fine, and read by three convolutions.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.catalog import auto_class, register
from ..trees.modules import Activation, Conv, Layers, Module, ModuleList

#: What DepthAnythingConfig makes of an absent backbone_config: DINOv2 small at 518 pixels.
BACKBONE = {"image_size": 518, "hidden_size": 384, "num_attention_heads": 6}
_FACTORS = (4, 2, 1, 0.5)


def _neck_widths(c: ModelConfig) -> tuple[Dim, ...]:
    return c.dims("neck_hidden_sizes", default=(48, 96, 192, 384))


def resized(c: ModelConfig, width: Dim, factor: object) -> Module:
    """Larger by a transposed convolution, or smaller by a strided one."""
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor <= 64:
        raise c.error("reassemble_factors", factor, "numbers above 0 and at most 64")
    if factor > 1:
        if int(factor) != factor:
            raise c.error("reassemble_factors", factor, "whole numbers where above 1")
        return Conv(width, width, int(factor), stride=int(factor), transposed=True)
    if factor == 1:
        return Activation("Identity")
    return Conv(width, width, 3, stride=int(1 / factor))


def reassemble_factors(c: ModelConfig) -> list[object]:
    """By which each stage of the neck changes the size of the image."""
    factors = c.raw("reassemble_factors")
    if factors is None:
        return list(_FACTORS)
    if not isinstance(factors, list):
        raise c.error("reassemble_factors", factors, "a list of numbers")
    return factors


def reassembled(name: str, c: ModelConfig, hidden: Dim, widths: Sequence[Dim]) -> Layers:
    """For each map a 1x1 convolution, then another size; as many as there are factors too."""
    return Layers(
        Module(
            f"{name}ReassembleLayer",
            projection=Conv(hidden, width, 1),
            resize=resized(c, width, factor),
        )
        for width, factor in zip(widths, reassemble_factors(c), strict=False)
    )


def neck(c: ModelConfig, name: str, prompted: Module | None = None) -> Module:
    """``prompted`` is what each fusion layer has in addition."""
    widths, fused = _neck_widths(c), c.dim("fusion_hidden_size", default=64)
    residual = Module(
        f"{name}PreActResidualLayer",
        convolution1=Conv(fused, fused, 3),
        convolution2=Conv(fused, fused, 3),
    )
    fusion = Module(
        f"{name}FeatureFusionLayer",
        projection=Conv(fused, fused, 1),
        residual_layer1=residual,
        residual_layer2=residual,
        prompt_depth_layer=prompted,
    )
    layers = reassembled(name, c, c.dim("reassemble_hidden_size", default=384), widths)
    return Module(
        f"{name}Neck",
        reassemble_stage=Module(f"{name}ReassembleStage", layers=layers),
        convs=ModuleList(Conv(width, fused, 3, bias=False) for width in widths),
        fusion_stage=Module(f"{name}FeatureFusionStage", layers=Layers([fusion] * len(widths))),
        component=Component.CONV,
        part="projector",
    )


def head(c: ModelConfig, name: str) -> Module:
    fused, width = c.dim("fusion_hidden_size", default=64), c.dim("head_hidden_size", default=32)

    def convolution(inputs: Dim, outputs: int, kernel: int) -> Module:
        return Conv(inputs, outputs, kernel, component=Component.HEAD)

    return Module(
        f"{name}DepthEstimationHead",
        conv1=convolution(fused, fused // 2, 3),
        conv2=convolution(fused // 2, width, 3),
        conv3=convolution(width, 1, 1),
        component=Component.HEAD,
    )


def estimator(c: ModelConfig, name: str, prompted: Module | None = None) -> Module:
    section = c.section("backbone_config", default=BACKBONE)
    return Module(
        f"{name}ForDepthEstimation",
        backbone=auto_class(section, "Backbone", default_type="dinov2", part="vision"),
        neck=neck(c, name, prompted),
        head=head(c, name),
        part="vision",
    )


def model(c: ModelConfig) -> Module:
    return estimator(c, "DepthAnything")


register("depth_anything", {"DepthAnythingForDepthEstimation": model}, category="vision")
