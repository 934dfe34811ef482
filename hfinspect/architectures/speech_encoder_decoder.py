"""A speech encoder and a language model. Source:
transformers/models/speech_encoder_decoder/modeling_speech_encoder_decoder.py."""

from ..core.config import ModelConfig
from ..trees.catalog import register_part
from ..trees.modules import Module
from .encoder_decoder import composite


def model(c: ModelConfig) -> Module:
    return composite(
        c,
        "SpeechEncoderDecoderModel",
        encoder_type="wav2vec2",
        part="audio",
        output_key="output_hidden_size",
    )


register_part("speech-encoder-decoder", "SpeechEncoderDecoderModel", model, "audio")
