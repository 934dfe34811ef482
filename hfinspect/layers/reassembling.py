"""What families of DPT's kind share (Ranftl et al. 2021): maps of several layers of a backbone are
resized, fused from coarse to fine, and read by a few convolutions.

Sources: transformers/models/{dpt,depth_anything,zoedepth,depth_pro,chmv2}.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
    each_module,
)
from .blocks import activation, size

_FACTORS = (4, 2, 1, 0.5)

fused_width = size("fusion_hidden_size", default=256)


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


def reassemble_factors(c: ModelConfig, count: int | None = None) -> list[object]:
    """By which each stage of the neck changes the size of the image, ``count`` of them."""
    factors = c.raw("reassemble_factors")
    factors = list(_FACTORS) if factors is None else factors
    if not isinstance(factors, list) or count not in (None, len(factors)):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise c.error("reassemble_factors", factors, f"a list of {wanted}")
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


def reassemble_stage(c: ModelConfig, name: str, hidden: Dim, widths: Sequence[Dim]) -> Module:
    """The maps, with the class token left out, added or projected into each place."""
    readout = c.word("readout_type", "project", "ignore", "add")
    project = Sequential(
        Linear(2 * hidden, hidden), activation(c.text("hidden_act", default="gelu"))
    )
    return Module(
        f"{name}ReassembleStage",
        layers=reassembled(name, c, hidden, widths),
        readout_projects=ModuleList([project] * len(widths)) if readout == "project" else None,
    )


def fusion_layer(
    c: ModelConfig, name: str, *, biased: bool | None = None, deconv: Module | None = None
) -> Module:
    """A projection and two residual blocks. ``biased`` is the config class's default; None and null
    say: where there is no norm."""
    fused, key = fused_width(c), "use_bias_in_fusion_residual"
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


def neck(
    name: str, stage: Module | None, widths: Sequence[Dim], fused: Dim, fusion: Module
) -> Module:
    """The maps of a reassembling ``stage``, brought to one width and fused."""
    return Module(
        f"{name}Neck",
        reassemble_stage=stage,
        convs=ModuleList(Conv(width, fused, 3, bias=False) for width in widths),
        fusion_stage=Module(f"{name}FeatureFusionStage", layers=Layers([fusion] * len(widths))),
        component=Component.CONV,
        part="projector",
    )


def depth_head(name: str, fused: Dim, inner: Dim, **more: Module | None) -> Module:
    """Three convolutions from the finest map to a depth at each place."""

    def convolution(inputs: Dim, outputs: int, kernel: int) -> Module:
        return Conv(inputs, outputs, kernel, component=Component.HEAD)

    return Module(
        f"{name}DepthEstimationHead",
        {
            **more,
            "conv1": convolution(fused, fused // 2, 3),
            "conv2": convolution(fused // 2, inner, 3),
            "conv3": convolution(inner, 1, 1),
        },
        component=Component.HEAD,
    )


def as_head(root: Module) -> Module:
    """``root`` with its convolutions counted to the head, in place."""
    for module in each_module(root):
        if module.component is Component.CONV:
            module.component = Component.HEAD
    return root
