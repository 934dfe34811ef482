"""MiniCPM-V 4.7 (OpenBMB 2026; transformers/models/minicpmv4_7). MiniCPM-V 4.6 (minicpmv4_6.py)
with positions over the whole image, which are no tensors."""

from ..layers.composing import renamed
from ..layers.multimodal import register_worded
from ..trees import ModelConfig, Module, builder, register_part

_OLD, _NAME = "MiniCPMV4_6", "MiniCPMV4_7"


def model(c: ModelConfig) -> Module:
    return renamed(builder(f"{_OLD}Model")(c), _OLD, _NAME)


def vision_model(c: ModelConfig) -> Module:
    return renamed(builder(f"{_OLD}VisionModel")(c), _OLD, _NAME)


register_worded("minicpmv4_7", _NAME, model, tied=False)
register_part("minicpmv4_7_vision", f"{_NAME}VisionModel", vision_model, "vision")
