"""Qwen2-Audio (Chu et al. 2024). Source: transformers/models/qwen2_audio/modeling_qwen2_audio.py.

Whisper's encoder, one linear layer, and a Qwen2 decoder whose head is never tied. File names and
their other spellings: multimodal.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.multimodal import LLAVA_ALIASES, decoder, language_model
from ..layers.whisper_encoder import encoder_layer, width
from ..trees.catalog import register, register_part
from ..trees.modules import Conv, Embedding, LayerNorm, Layers, Linear, Module


def audio_model(c: ModelConfig) -> Module:
    d = width(c)
    layers = c.count("encoder_layers", "num_hidden_layers", default=32)
    return Module(
        "Qwen2AudioEncoder",
        conv1=Conv(c.dim("num_mel_bins", default=128), d, 3, dims=1),
        conv2=Conv(d, d, 3, dims=1, stride=2),
        embed_positions=Embedding(c.dim("max_source_positions", default=1500), d, kind="position"),
        layers=Layers.of(layers, encoder_layer("Qwen2Audio", c)),
        layer_norm=LayerNorm(d),
        part="audio",
    )


def parts(c: ModelConfig, *, head: bool) -> dict[str, Module]:
    text = decoder(c, "qwen2")
    audio = c.section("audio_config")
    return {
        "audio_tower": audio_model(audio),
        "multi_modal_projector": Module(
            "Qwen2AudioMultiModalProjector",
            linear=Linear(width(audio), text.hidden),
            component=Component.PROJECTOR,
            part="projector",
        ),
        "language_model": language_model(text, head=head, tied=False),
    }


def generation(c: ModelConfig) -> Module:
    return Module("Qwen2AudioForConditionalGeneration", dict(parts(c, head=True)))


def base(c: ModelConfig) -> Module:
    return Module("Qwen2AudioModel", dict(parts(c, head=False)))


register(
    "qwen2_audio",
    {"Qwen2AudioForConditionalGeneration": generation, "Qwen2AudioModel": base},
    aliases={**LLAVA_ALIASES, "model.audio_tower.": "audio_tower."},
    category="multimodal",
)
register_part("qwen2_audio_encoder", "Qwen2AudioEncoder", audio_model, "audio")
