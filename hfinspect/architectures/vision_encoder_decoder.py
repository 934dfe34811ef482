"""An image encoder and a language model: TrOCR, Donut, captioners. Source:
transformers/models/vision_encoder_decoder/modeling_vision_encoder_decoder.py."""

from __future__ import annotations

from ..core.config import ModelConfig
from .encoder_decoder import composite
from .modules import Module
from .registry import register


def model(c: ModelConfig) -> Module:
    return composite(c, "VisionEncoderDecoderModel", encoder_type="vit", part="vision")


register(
    "vision-encoder-decoder",
    {"VisionEncoderDecoderModel": model},
    base="VisionEncoderDecoderModel",
    category="multimodal",
)
