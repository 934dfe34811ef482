"""MiniCPM-V 4.7 (OpenBMB 2026; transformers/models/minicpmv4_7): MiniCPM-V 4.6 (minicpmv4_6.py)."""

from ..layers.composing import renamed
from ..layers.multimodal import register_worded
from ..trees import Builder, builder, register_part

_OLD = "MiniCPMV4_6"


def register_renamed(model_type: str, name: str, *, tied: bool) -> None:
    def under(ending: str) -> Builder:
        return lambda c: renamed(builder(f"{_OLD}{ending}")(c), _OLD, name)

    register_worded(model_type, name, under("Model"), tied=tied)
    register_part(f"{model_type}_vision", f"{name}VisionModel", under("VisionModel"), "vision")


register_renamed("minicpmv4_7", "MiniCPMV4_7", tied=False)
