"""Audio Flamingo 3 (Goel et al. 2025). Source: transformers/models/audioflamingo3."""

from functools import partial

from ..layers.multimodal import register_listener, two_layer_projector
from ..layers.whisper_encoder import encoder, width
from ..trees import Dim, ModelConfig, Module, register_part

_tower = partial(encoder, "AudioFlamingo3", pooled=True)


def listener(model_type: str, name: str) -> None:
    """What Music Flamingo is as well."""

    def project(c: ModelConfig, audio: ModelConfig, text: Dim) -> Module:
        bias = c.flag("projector_bias", default=True)
        return two_layer_projector(f"{name}MultiModalProjector", c, width(audio), text, bias=bias)

    register_listener(model_type, name, "qwen2", _tower, project)


listener("audioflamingo3", "AudioFlamingo3")
register_part("audioflamingo3_encoder", "AudioFlamingo3Encoder", _tower, "audio")
