"""Voxtral (Mistral AI 2025). Source of shapes: transformers/models/voxtral/modeling_voxtral.py.
Whisper's encoder, four frames side by side through two linear layers, and a decoder."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.multimodal import decoder, language_model, register_headed, two_layer_projector
from ..layers.whisper_encoder import encoder
from ..trees.catalog import register_part
from ..trees.modules import Module


def register_listener(
    model_type: str,
    name: str,
    text: str,
    seen: Callable[[ModelConfig], Dim],
    *,
    bias: Callable[[ModelConfig], bool],
    text_defaults: Mapping[str, Any],
    tower: str | None = None,
) -> None:
    """Add a family of Whisper's encoder (that of the family ``tower``), a projector and a decoder
    of the type ``text``, whose ``text_defaults`` stand under whatever its section says; ``seen`` is
    how wide the projector's input is, ``bias`` whether its layers have biases."""

    def parts(c: ModelConfig, head: bool) -> dict[str, Module]:
        given = {**text_defaults, **c.section("text_config").values}
        decoding = decoder(c.with_values(text_config=given), text)
        audio, at, h = c.section("audio_config"), f"{name}MultiModalProjector", decoding.hidden
        return {
            "audio_tower": encoder(tower or name, audio, pooled=True),
            "language_model": language_model(decoding, head=head, tied=False),
            "multi_modal_projector": two_layer_projector(at, c, seen(audio), h, bias=bias(c)),
        }

    register_headed(model_type, name, parts, "audio_tower")
    if tower is None:
        alone = partial(encoder, name, pooled=True)
        register_part(f"{model_type}_encoder", f"{name}Encoder", alone, "audio")


# Four frames of the encoder's width are the width inside its MLP.
register_listener(
    "voxtral", "Voxtral", "llama", size("intermediate_size", "encoder_ffn_dim", default=5120),
    bias=lambda _: False,
    text_defaults={
        "vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 8192,
        "num_hidden_layers": 30, "num_key_value_heads": 8, "head_dim": 128,
    },
)  # fmt: skip
