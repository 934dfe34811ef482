"""MiniCPM-V 4.7 (OpenBMB 2026). Source of shapes: transformers/models/minicpmv4_7.

MiniCPM-V 4.6 (minicpmv4_6.py) with positions over the whole image, which are no tensors.
"""

from ..layers.composing import renamed_classes
from ..trees.catalog import register
from . import minicpmv4_6

_OLD, _NAME = "MiniCPMV4_6", "MiniCPMV4_7"

register(
    "minicpmv4_7",
    renamed_classes(
        {
            f"{_OLD}ForConditionalGeneration": minicpmv4_6.conditional_generation,
            f"{_OLD}Model": minicpmv4_6.model,
        },
        _OLD,
        _NAME,
    ),
    base_prefix="model",
    category="multimodal",
)
register(
    "minicpmv4_7_vision",
    renamed_classes({f"{_OLD}VisionModel": minicpmv4_6.vision_model}, _OLD, _NAME),
    category="vision",
)
