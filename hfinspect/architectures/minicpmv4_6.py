"""MiniCPM-V 4.6 (OpenBMB 2026). Source of shapes: transformers/models/minicpmv4_6.

SigLIP with a merger of windows between its layers (a trace), a projector that halves the grid
``merger_times`` times, and any text tower.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import any_model, projector, register_worded, two_linears, within
from ..trees.modules import Activation, LayerNorm, Module, ModuleList


def _halving(c: ModelConfig, wide: Dim, out: Dim) -> Module:
    act, norm = Activation("GELU", "approximate='none'"), LayerNorm(wide, eps=1e-6)
    return two_linears("MiniCPMV4_6DownsampleMLP", c, wide, wide, out, act=act, pre_norm=norm)


def _merger(c: ModelConfig) -> Module:
    h = c.section("vision_config").dim("hidden_size", default=768)
    out = c.section("text_config").dim("hidden_size", default=4096)
    before = [_halving(c, h * 4, h)] * (int(c.count("merger_times", default=1)) - 1)
    return projector("MiniCPMV4_6Merger", mlp=ModuleList([*before, _halving(c, h * 4, out)]))


PARTS = {
    "vision_tower": within("vision_config", "MiniCPMV4_6VisionModel"),
    "language_model": any_model("text_config", "qwen3_5_text"),
    "merger": _merger,
}
register_worded("minicpmv4_6", "MiniCPMV4_6", PARTS, tied=False)
