"""Voxtral (Mistral AI 2025). Source of shapes: transformers/models/voxtral/modeling_voxtral.py.
Whisper's encoder, four frames side by side through two linear layers, and a decoder."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import decoder, language_model, register_headed, two_layer_projector
from ..layers.whisper_encoder import encoder
from ..trees.catalog import Builder, register_part
from ..trees.modules import Module


def register_listener(
    model_type: str, name: str, text: str, tower: Builder,
    project: Callable[[ModelConfig, ModelConfig, Dim], Module],
    defaults: Mapping[str, Any] | None = None, *, tied: Callable[[ModelConfig], bool] | None = None,
) -> None:  # fmt: skip
    """Add a family of a ``tower`` for sound, what ``project``s to the width of a decoder, and that:
    of the type ``text``, whose ``defaults`` stand under whatever its section says."""

    def parts(c: ModelConfig, head: bool) -> dict[str, Module]:
        given = {**(defaults or {}), **c.section("text_config").values}
        decoding, audio = decoder(c.with_values(text_config=given), text), c.section("audio_config")
        ties = tied is not None and tied(c)
        return {
            "audio_tower": tower(audio),
            "language_model": language_model(decoding, head=head, tied=ties),
            "multi_modal_projector": project(c, audio, decoding.hidden),
        }

    register_headed(model_type, name, parts, "audio_tower")


def _project(c: ModelConfig, audio: ModelConfig, text: Dim) -> Module:
    """Four frames of the encoder's width are the width inside its MLP."""
    seen = audio.dim("intermediate_size", "encoder_ffn_dim", default=5120)
    return two_layer_projector("VoxtralMultiModalProjector", c, seen, text, bias=False)


_DEFAULTS = {
    "vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 30,
    "num_key_value_heads": 8, "head_dim": 128,
}  # fmt: skip
_tower = partial(encoder, "Voxtral", pooled=True)
register_listener("voxtral", "Voxtral", "llama", _tower, _project, _DEFAULTS)
register_part("voxtral_encoder", "VoxtralEncoder", _tower, "audio")
