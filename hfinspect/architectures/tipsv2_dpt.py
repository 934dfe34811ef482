"""DPT over TIPSv2 (Google 2026): depths, normals and segments.

Source of shapes: transformers/models/tipsv2_dpt/modeling_tipsv2_dpt.py. DPT's neck, one for each
task; files keep the names of Google's code (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.reassembling import as_head, reassemble_factors, resized
from ..trees.catalog import Builder, auto_class, register
from ..trees.modules import Conv, Linear, Module, ModuleList


def _head(c: ModelConfig, task: str) -> Module:
    section = c.section("backbone_config")
    hidden = section.dim("hidden_size", default=768)
    fused = c.dim("fusion_hidden_size", default=256)
    widths = c.dims("neck_hidden_sizes", default=(96, 192, 384, 768))
    factors = reassemble_factors(c, len(widths))
    bins = c.dim("num_depth_bins", default=256)
    outputs = {"depth": bins, "normals": 3, "segmentation": c.num_labels}
    two = {f"conv{i}": Conv(fused, fused, 3, bias=False) for i in (1, 2)}
    unit = Module("Tipsv2DptPreActResidualLayer", two)

    def fusion(*, first: bool) -> Module:
        return Module(
            "Tipsv2DptFeatureFusionLayer",
            out_conv=Conv(fused, fused, 1),
            residual_unit=None if first else unit,
            main_unit=unit,
        )

    later = [fusion(first=False)] * (len(widths) - 1)
    sizes = zip(widths, factors, strict=True)
    stage = {
        "readout_projects": ModuleList([Linear(2 * hidden, hidden)] * len(widths)),
        "out_projections": ModuleList(Conv(hidden, width, 1) for width in widths),
        "resize_layers": ModuleList(resized(c, *both) for both in sizes),
    }
    parts = {
        "reassemble": Module("Tipsv2DptReassembleStage", stage),
        "convs": ModuleList(Conv(width, fused, 3, bias=False) for width in widths),
        "fusion_blocks": ModuleList([fusion(first=True), *later]),
        "project": Conv(fused, fused, 3),
        f"{task}_head": Linear(fused, outputs[task]),
    }
    return as_head(Module("Tipsv2DptNeck", parts, component=Component.CONV))


def _with(name: str, *tasks: str) -> Builder:
    kind = "tipsv2_vision_model"
    return lambda c: Module(
        name,
        {
            "vision_encoder": auto_class(
                c.section("backbone_config"), "Backbone", default_type=kind, part="vision"
            ),
            **{f"{task}_head": _head(c, task) for task in tasks},
        },
        part="vision",
    )


_TASKS = {
    "Tipsv2DptForDepthEstimation": ("depth",),
    "Tipsv2DptForNormalEstimation": ("normals",),
    "Tipsv2DptForSemanticSegmentation": ("segmentation",),
    "Tipsv2DptForDensePrediction": ("depth", "normals", "segmentation"),
}
_CLASSES = {name: _with(name, *tasks) for name, tasks in _TASKS.items()}
register("tipsv2_dpt", _CLASSES, category="vision")
