"""MiniCPM-OCR (OpenBMB 2026). Source of shapes: transformers/models/minicpm_ocr.

MiniCPM-V 4.6 (minicpmv4_6.py) for pages of text, with its head tied to the table of tokens.
"""

from functools import partial

from ..layers.composing import renamed_classes
from ..trees.catalog import register
from . import minicpmv4_6

_OLD, _NAME = "MiniCPMV4_6", "MiniCPMOcr"

register(
    "minicpm_ocr",
    renamed_classes(
        {
            f"{_OLD}ForConditionalGeneration": partial(
                minicpmv4_6.conditional_generation, tied=True
            ),
            f"{_OLD}Model": minicpmv4_6.model,
        },
        _OLD,
        _NAME,
    ),
    base_prefix="model",
    category="multimodal",
)
register(
    "minicpm_ocr_vision",
    renamed_classes({f"{_OLD}VisionModel": minicpmv4_6.vision_model}, _OLD, _NAME),
    category="vision",
)
