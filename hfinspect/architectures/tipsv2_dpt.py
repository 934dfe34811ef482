"""DPT over TIPSv2 (Google 2026): depths, normals and segments, with a neck for each. Files keep the
names of Google's code (conversion_mapping.py). Source: transformers/models/tipsv2_dpt."""

from functools import partial

from ..layers.composing import FormPart, composed
from ..layers.reassembling import as_head, fused_width, reassemble_factors, resized
from ..trees import Component, Conv, Linear, ModelConfig, Module, ModuleList, auto_class, register


def _head(c: ModelConfig, task: str) -> Module:
    hidden = c.section("backbone_config").dim("hidden_size", default=768)
    fused = fused_width(c)
    widths = c.dims("neck_hidden_sizes", default=(96, 192, 384, 768))
    bins = c.dim("num_depth_bins", default=256)
    outputs = {"depth": bins, "normals": 3, "segmentation": c.num_labels}
    two = {f"conv{i}": Conv(fused, fused, 3, bias=False) for i in (1, 2)}
    unit = Module("Tipsv2DptPreActResidualLayer", two)
    point = Conv(fused, fused, 1)
    first, later = (
        Module("Tipsv2DptFeatureFusionLayer", out_conv=point, residual_unit=added, main_unit=unit)
        for added in (None, unit)
    )
    sizes = zip(widths, reassemble_factors(c, len(widths)), strict=True)
    stage = {
        "readout_projects": ModuleList([Linear(2 * hidden, hidden)] * len(widths)),
        "out_projections": ModuleList(Conv(hidden, width, 1) for width in widths),
        "resize_layers": ModuleList(resized(c, *both) for both in sizes),
    }
    parts = {
        "reassemble": Module("Tipsv2DptReassembleStage", stage),
        "convs": ModuleList(Conv(width, fused, 3, bias=False) for width in widths),
        "fusion_blocks": ModuleList([first, *[later] * (len(widths) - 1)]),
        "project": Conv(fused, fused, 3),
        f"{task}_head": Linear(fused, outputs[task]),
    }
    return as_head(Module("Tipsv2DptNeck", parts, component=Component.CONV))


def _seen(c: ModelConfig) -> Module:
    section = c.section("backbone_config")
    kind = "tipsv2_vision_model"
    return auto_class(section, "Backbone", default_type=kind, part="vision")


_TASKS = {
    "DepthEstimation": ["depth"],
    "NormalEstimation": ["normals"],
    "SemanticSegmentation": ["segmentation"],
    "DensePrediction": ["depth", "normals", "segmentation"],
}
_CLASSES: dict[str, dict[str, FormPart]] = {}
for name, tasks in _TASKS.items():
    heads = {f"{task}_head": partial(_head, task=task) for task in tasks}
    _CLASSES[f"Tipsv2DptFor{name}"] = {"vision_encoder": _seen, **heads}
register("tipsv2_dpt", composed(_CLASSES, part="vision"), category="vision")
