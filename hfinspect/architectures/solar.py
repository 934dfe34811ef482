"""Solar Pro preview (Upstage 2024). No class in transformers. Source of shapes: modeling_solar.py
in upstage/solar-pro-preview-instruct.

Llama's layers; what is added across layers (``bskcn``) has no weights.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from . import llama
from .composing import renamed
from .heads import decoder_classes
from .modules import Module
from .registry import register


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
