"""MiniCPM-V 4.6 (OpenBMB 2026). Source of shapes: transformers/models/minicpmv4_6.

SigLIP with a merger of windows between its layers (a trace), a projector that halves the grid
``merger_times`` times, and any text tower.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import any_model, projector, register_worded, within
from ..trees.modules import Activation, LayerNorm, Linear, Module, ModuleList


def _halving(h: Dim, out: Dim) -> Module:
    wide = h * 4
    return Module(
        "MiniCPMV4_6DownsampleMLP",
        pre_norm=LayerNorm(wide, eps=1e-6),
        linear_1=Linear(wide, wide),
        act=Activation("GELU", "approximate='none'"),
        linear_2=Linear(wide, out),
    )


def _merger(c: ModelConfig) -> Module:
    h = c.section("vision_config").dim("hidden_size", default=768)
    out = c.section("text_config").dim("hidden_size", default=4096)
    before = [_halving(h, h)] * (int(c.count("merger_times", default=1)) - 1)
    return projector("MiniCPMV4_6Merger", mlp=ModuleList([*before, _halving(h, out)]))


PARTS = {
    "vision_tower": within("vision_config", "MiniCPMV4_6VisionModel"),
    "language_model": any_model("text_config", "qwen3_5_text"),
    "merger": _merger,
}
register_worded("minicpmv4_6", "MiniCPMV4_6", PARTS, tied=False)
