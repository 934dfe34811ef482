"""MiniCPM-V 4.6 (OpenBMB 2026). Source of shapes: transformers/models/minicpmv4_6.

SigLIP's layers with a merger of windows between them (a trace), a projector that halves the grid
``merger_times`` times, and any text tower, Qwen3.5's by default.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.multimodal import register_worded
from ..trees.catalog import auto_model, builder
from ..trees.modules import Activation, LayerNorm, Linear, Module, ModuleList

_width = size("hidden_size", default=768)


def _halving(h: Dim, out: Dim) -> Module:
    wide = h * 4
    return Module(
        "MiniCPMV4_6DownsampleMLP",
        pre_norm=LayerNorm(wide, eps=1e-6),
        linear_1=Linear(wide, wide),
        act=Activation("GELU", "approximate='none'"),
        linear_2=Linear(wide, out),
    )


def _text_width(c: ModelConfig) -> Dim:
    return c.section("text_config").dim("hidden_size", default=4096)


def merger(c: ModelConfig) -> Module:
    h = _width(c.section("vision_config"))
    times = int(c.count("merger_times", default=1))
    before = [_halving(h, h)] * max(times - 1, 0)
    return Module(
        "MiniCPMV4_6Merger",
        mlp=ModuleList([*before, _halving(h, _text_width(c))]),
        component=Component.PROJECTOR,
        part="projector",
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "MiniCPMV4_6Model",
        vision_tower=builder("MiniCPMV4_6VisionModel")(c.section("vision_config")),
        language_model=auto_model(c.section("text_config"), default_type="qwen3_5_text"),
        merger=merger(c),
    )


register_worded("minicpmv4_6", "MiniCPMV4_6", model, tied=False)
