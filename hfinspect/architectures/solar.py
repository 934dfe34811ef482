"""Solar Pro preview (Upstage 2024). No class in transformers. Source of shapes: modeling_solar.py
in upstage/solar-pro-preview-instruct.

Llama's layers; what is added across layers (``bskcn``) has no weights.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Module
from . import llama


def model(c: ModelConfig) -> Module:
    return renamed(llama.model(c), "Llama", "Solar")


register(
    "solar",
    decoder_classes("Solar", model, heads=("ForSequenceClassification",)),
    base="SolarModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_solar.py of upstage/solar-pro-preview-instruct",
)
