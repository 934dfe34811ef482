"""What families of DPT's kind share (Ranftl et al. 2021): maps of several layers of a backbone are
resized, fused from coarse to fine, and read by a few convolutions.

Sources: transformers/models/{dpt,depth_anything,zoedepth,depth_pro,chmv2}.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..trees import Component, Dim, ModelConfig
from ..trees import modules as nn
from .blocks import activation, size

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
    factors = [4, 2, 1, 0.5] if factors is None else factors
    if not isinstance(factors, list) or count not in (None, len(factors)):
        expected = "numbers" if count is None else f"{count} numbers"
        raise c.error("reassemble_factors", factors, f"a list of {expected}")
    return factors


def reassembled(name: str, c: ModelConfig, hidden: Dim, widths: Sequence[Dim]) -> nn.Layers:
    """For each map a 1x1 convolution, then another size; as many as there are factors too."""

    def layer(width: Dim, factor: object) -> nn.Module:
        to = nn.Conv(hidden, width, 1)
        resize = resized(c, width, factor)
        return nn.Module(f"{name}ReassembleLayer", projection=to, resize=resize)

    return nn.Layers(map(layer, widths, reassemble_factors(c)))


def reassemble_stage(c: ModelConfig, name: str, hidden: Dim, widths: Sequence[Dim]) -> nn.Module:
    """The maps, with the class token left out, added or projected into each place."""
    readout = c.word("readout_type", "project", "ignore", "add")
    act = activation(c.text("hidden_act", default="gelu"))
    project = nn.ModuleList([nn.Sequential(nn.Linear(2 * hidden, hidden), act)] * len(widths))
    stage = nn.Module(f"{name}ReassembleStage", layers=reassembled(name, c, hidden, widths))
    return stage.adding(readout_projects=project if readout == "project" else None)


def fusion_layer(
    c: ModelConfig, name: str, *, biased: bool | None = None, deconv: nn.Module | None = None
) -> nn.Module:
    """A projection and two residual blocks. ``biased`` is the config class's default; None and null
    say: where there is no norm."""
    fused = fused_width(c)
    key = "use_bias_in_fusion_residual"
    normed = c.flag("use_batch_norm_in_fusion_residual", default=False)
    unsaid = not c.has(key) and (biased is None or c.says(key))
    bias = not normed if unsaid else c.flag(key, default=True)
    relu = nn.Activation("ReLU")
    conv = nn.Conv(fused, fused, 3, bias=bias)
    parts = {"activation1": relu, "convolution1": conv, "activation2": relu, "convolution2": conv}
    parts |= {f"batch_norm{i}": nn.BatchNorm(fused) for i in (1, 2) if normed}
    residual = nn.Module(f"{name}PreActResidualLayer", parts)
    fusion = nn.Module(f"{name}FeatureFusionLayer", projection=nn.Conv(fused, fused, 1))
    return fusion.adding(residual_layer1=residual, residual_layer2=residual, deconv=deconv)


def neck(
    name: str, stage: nn.Module | None, widths: Sequence[Dim], fused: Dim, fusion: nn.Module
) -> nn.Module:
    """The maps of a reassembling ``stage``, brought to one width and fused."""
    convs = nn.ModuleList(nn.Conv(width, fused, 3, bias=False) for width in widths)
    last = nn.Module(f"{name}FeatureFusionStage", layers=nn.Layers([fusion] * len(widths)))
    root = nn.Module(f"{name}Neck", component=Component.CONV, part="projector")
    return root.adding(reassemble_stage=stage, convs=convs, fusion_stage=last)


def depth_head(name: str, fused: Dim, inner: Dim, **more: nn.Module | None) -> nn.Module:
    """Three convolutions from the finest map to a depth at each place."""
    rows = (fused, fused // 2, 3), (fused // 2, inner, 3), (inner, 1, 1)
    convs = {f"conv{i}": nn.Conv(*row, component=Component.HEAD) for i, row in enumerate(rows, 1)}
    return nn.Module(f"{name}DepthEstimationHead", {**more, **convs}, component=Component.HEAD)


def as_head(root: nn.Module) -> nn.Module:
    """``root`` with its convolutions counted to the head, in place."""
    for module in nn.each_module(root):
        if module.component is Component.CONV:
            module.component = Component.HEAD
    return root
