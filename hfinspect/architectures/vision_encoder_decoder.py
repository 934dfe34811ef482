"""An image encoder and a language model: TrOCR, Donut, captioners. Source:
transformers/models/vision_encoder_decoder/modeling_vision_encoder_decoder.py."""

from .encoder_decoder import register_composite

register_composite(
    "vision-encoder-decoder", "VisionEncoderDecoderModel", "vit", "multimodal", part="vision"
)
