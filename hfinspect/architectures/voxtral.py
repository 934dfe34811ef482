"""Voxtral (Mistral AI 2025). Source of shapes: transformers/models/voxtral/modeling_voxtral.py.
Whisper's encoder, four frames side by side through two linear layers, and a decoder."""

from functools import partial

from ..layers.multimodal import register_listener, two_layer_projector
from ..layers.whisper_encoder import encoder
from ..trees import Dim, ModelConfig, Module, config_defaults, register_part


def _project(c: ModelConfig, audio: ModelConfig, text: Dim) -> Module:
    """Four frames of the encoder's width are the width inside its MLP."""
    inputs = audio.dim("intermediate_size", "encoder_ffn_dim", default=5120)
    return two_layer_projector("VoxtralMultiModalProjector", c, inputs, text, bias=False)


_tower = partial(encoder, "Voxtral", pooled=True)
register_listener("voxtral", "Voxtral", "llama", _tower, _project, config_defaults("voxtral"))
register_part("voxtral_encoder", "VoxtralEncoder", _tower, "audio")
