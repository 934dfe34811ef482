"""An image encoder and a language model: TrOCR, Donut, captioners. Source:
transformers/models/vision_encoder_decoder/modeling_vision_encoder_decoder.py."""

from ..core.config import ModelConfig
from ..trees.catalog import register_part
from ..trees.modules import Module
from .encoder_decoder import composite


def model(c: ModelConfig) -> Module:
    return composite(c, "VisionEncoderDecoderModel", encoder_type="vit", part="vision")


register_part("vision-encoder-decoder", "VisionEncoderDecoderModel", model, "multimodal")
