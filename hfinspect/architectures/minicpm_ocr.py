"""MiniCPM-OCR (OpenBMB 2026; transformers/models/minicpm_ocr). MiniCPM-V 4.6 (minicpmv4_6.py) for
pages of text, with its head tied to the table of tokens."""

from ..layers.composing import renamed
from ..layers.multimodal import register_worded
from ..trees import ModelConfig, Module, builder, register_part

_OLD, _NAME = "MiniCPMV4_6", "MiniCPMOcr"


def model(c: ModelConfig) -> Module:
    return renamed(builder(f"{_OLD}Model")(c), _OLD, _NAME)


def vision_model(c: ModelConfig) -> Module:
    return renamed(builder(f"{_OLD}VisionModel")(c), _OLD, _NAME)


register_worded("minicpm_ocr", _NAME, model, tied=True)
register_part("minicpm_ocr_vision", f"{_NAME}VisionModel", vision_model, "vision")
