"""What families of DPT's kind share (Ranftl et al. 2021): maps of several layers of a backbone are
resized, fused from coarse to fine, and read by a few convolutions.

Sources: transformers/models/{dpt,depth_anything,zoedepth,depth_pro,chmv2}.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees import modules as nn
from .blocks import activation, size

_FACTORS = (4, 2, 1, 0.5)

fused_width = size("fusion_hidden_size", default=256)


def resized(c: ModelConfig, width: Dim, factor: object) -> nn.Module:
    """Larger by a transposed convolution, or smaller by a strided one."""
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor <= 64:
        raise c.error("reassemble_factors", factor, "numbers above 0 and at most 64")
    if factor > 1:
        if int(factor) != factor:
            raise c.error("reassemble_factors", factor, "whole numbers where above 1")
        return nn.Conv(width, width, int(factor), stride=int(factor), transposed=True)
    if factor == 1:
        return nn.Activation("Identity")
    return nn.Conv(width, width, 3, stride=int(1 / factor))


def reassemble_factors(c: ModelConfig, count: int | None = None) -> list[object]:
    """By which each stage of the neck changes the size of the image, ``count`` of them."""
    factors = c.raw("reassemble_factors")
    factors = list(_FACTORS) if factors is None else factors
    if not isinstance(factors, list) or count not in (None, len(factors)):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise c.error("reassemble_factors", factors, f"a list of {wanted}")
    return factors


def reassembled(name: str, c: ModelConfig, hidden: Dim, widths: Sequence[Dim]) -> nn.Layers:
    """For each map a 1x1 convolution, then another size; as many as there are factors too."""
    return nn.Layers(
        nn.Module(
            f"{name}ReassembleLayer",
            projection=nn.Conv(hidden, width, 1),
            resize=resized(c, width, factor),
        )
        for width, factor in zip(widths, reassemble_factors(c), strict=False)
    )


def reassemble_stage(c: ModelConfig, name: str, hidden: Dim, widths: Sequence[Dim]) -> nn.Module:
    """The maps, with the class token left out, added or projected into each place."""
    readout = c.word("readout_type", "project", "ignore", "add")
    project = nn.Sequential(
        nn.Linear(2 * hidden, hidden), activation(c.text("hidden_act", default="gelu"))
    )
    return nn.Module(
        f"{name}ReassembleStage",
        layers=reassembled(name, c, hidden, widths),
        readout_projects=nn.ModuleList([project] * len(widths)) if readout == "project" else None,
    )


def fusion_layer(
    c: ModelConfig, name: str, *, biased: bool | None = None, deconv: nn.Module | None = None
) -> nn.Module:
    """A projection and two residual blocks. ``biased`` is the config class's default; None and null
    say: where there is no norm."""
    fused, key = fused_width(c), "use_bias_in_fusion_residual"
    normed = c.flag("use_batch_norm_in_fusion_residual", default=False)
    unsaid = not c.has(key) and (biased is None or c.says(key))
    bias = not normed if unsaid else c.flag(key, default=True)
    residual = nn.Module(
        f"{name}PreActResidualLayer",
        activation1=nn.Activation("ReLU"),
        convolution1=nn.Conv(fused, fused, 3, bias=bias),
        activation2=nn.Activation("ReLU"),
        convolution2=nn.Conv(fused, fused, 3, bias=bias),
        batch_norm1=nn.BatchNorm(fused) if normed else None,
        batch_norm2=nn.BatchNorm(fused) if normed else None,
    )
    return nn.Module(
        f"{name}FeatureFusionLayer",
        projection=nn.Conv(fused, fused, 1),
        residual_layer1=residual,
        residual_layer2=residual,
        deconv=deconv,
    )


def neck(
    name: str, stage: nn.Module | None, widths: Sequence[Dim], fused: Dim, fusion: nn.Module
) -> nn.Module:
    """The maps of a reassembling ``stage``, brought to one width and fused."""
    return nn.Module(
        f"{name}Neck",
        reassemble_stage=stage,
        convs=nn.ModuleList(nn.Conv(width, fused, 3, bias=False) for width in widths),
        fusion_stage=nn.Module(
            f"{name}FeatureFusionStage", layers=nn.Layers([fusion] * len(widths))
        ),
        component=Component.CONV,
        part="projector",
    )


def depth_head(name: str, fused: Dim, inner: Dim, **more: nn.Module | None) -> nn.Module:
    """Three convolutions from the finest map to a depth at each place."""

    def convolution(inputs: Dim, outputs: int, kernel: int) -> nn.Module:
        return nn.Conv(inputs, outputs, kernel, component=Component.HEAD)

    return nn.Module(
        f"{name}DepthEstimationHead",
        {
            **more,
            "conv1": convolution(fused, fused // 2, 3),
            "conv2": convolution(fused // 2, inner, 3),
            "conv3": convolution(inner, 1, 1),
        },
        component=Component.HEAD,
    )


def as_head(root: nn.Module) -> nn.Module:
    """``root`` with its convolutions counted to the head, in place."""
    for module in nn.each_module(root):
        if module.component is Component.CONV:
            module.component = Component.HEAD
    return root
