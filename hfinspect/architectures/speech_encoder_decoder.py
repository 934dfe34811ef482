"""A speech encoder and a language model (transformers/models/speech_encoder_decoder)."""

from .encoder_decoder import register_composite

register_composite(
    "speech-encoder-decoder",
    "SpeechEncoderDecoderModel",
    "wav2vec2",
    "audio",
    part="audio",
    output_key="output_hidden_size",
)
