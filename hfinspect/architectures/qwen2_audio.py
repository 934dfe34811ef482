"""Qwen2-Audio (Chu et al. 2024). Source: transformers/models/qwen2_audio/modeling_qwen2_audio.py.
Whisper's encoder, one linear layer, and a Qwen2 decoder whose head is never tied."""

from functools import partial

from ..layers.multimodal import decoder, language_model, projector, register_headed
from ..layers.whisper_encoder import encoder, width
from ..trees import Linear, ModelConfig, Module, register_part

_tower = partial(encoder, "Qwen2Audio")


def parts(c: ModelConfig, head: bool) -> dict[str, Module]:
    text = decoder(c, "qwen2")
    audio = c.section("audio_config")
    linear = Linear(width(audio), text.hidden)
    return {
        "audio_tower": _tower(audio),
        "multi_modal_projector": projector("Qwen2AudioMultiModalProjector", linear=linear),
        "language_model": language_model(text, head=head, tied=False),
    }


register_headed("qwen2_audio", "Qwen2Audio", parts, "audio_tower")
register_part("qwen2_audio_encoder", "Qwen2AudioEncoder", _tower, "audio")
