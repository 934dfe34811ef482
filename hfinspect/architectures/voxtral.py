"""Voxtral (Mistral AI 2025). Source of shapes: transformers/models/voxtral/modeling_voxtral.py.

Whisper's encoder, four frames side by side through two linear layers, and a Mistral decoder (as a
Llama) whose head is never tied. File names and their other spellings: multimodal.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..core.records import dataclass
from ..layers.blocks import activation
from ..layers.multimodal import LLAVA_ALIASES, decoder, language_model
from ..layers.whisper_encoder import encoder_layer, width
from ..trees.catalog import register, register_part
from ..trees.modules import Activation, Conv, Embedding, LayerNorm, Layers, Linear, Module


@dataclass(frozen=True)
class Listener:
    """A family of Whisper's encoder, a projector and a decoder.

    ``text_defaults`` stand under whatever the text section says; ``seen`` is how wide the
    projector's input is, ``bias`` whether its layers have biases.  ``tower`` names the family whose
    encoder it takes, where that is another.
    """

    name: str
    model_type: str
    text: str
    seen: Callable[[ModelConfig], Dim]
    bias: Callable[[ModelConfig], bool]
    text_defaults: Mapping[str, Any]
    tower: str | None = None


def encoder(name: str, c: ModelConfig) -> Module:
    d = width(c)
    positions = c.dim("max_source_positions", default=1500)
    return Module(
        f"{name}Encoder",
        conv1=Conv(c.dim("num_mel_bins", default=128), d, 3, dims=1),
        conv2=Conv(d, d, 3, dims=1, stride=2),
        embed_positions=Embedding(positions, d, kind="position"),
        layers=Layers.of(
            c.count("num_hidden_layers", "encoder_layers", default=32), encoder_layer(name, c)
        ),
        layer_norm=LayerNorm(d),
        avg_pooler=Activation("AvgPool1d"),
        part="audio",
    )


def register_listener(it: Listener) -> None:
    def parts(c: ModelConfig, *, head: bool) -> dict[str, Module]:
        given = c.section("text_config").values
        said = {"text_config": {**it.text_defaults, **given}}
        text = decoder(ModelConfig({**c.values, **said}, c.path), it.text)
        audio, bias = c.section("audio_config"), it.bias(c)
        return {
            "audio_tower": encoder(it.tower or it.name, audio),
            "language_model": language_model(text, head=head, tied=False),
            "multi_modal_projector": Module(
                f"{it.name}MultiModalProjector",
                linear_1=Linear(it.seen(audio), text.hidden, bias=bias),
                act=activation(c.text("projector_hidden_act", default="gelu")),
                linear_2=Linear(text.hidden, text.hidden, bias=bias),
                component=Component.PROJECTOR,
                part="projector",
            ),
        }

    def generation(c: ModelConfig) -> Module:
        return Module(f"{it.name}ForConditionalGeneration", dict(parts(c, head=True)))

    def base(c: ModelConfig) -> Module:
        return Module(f"{it.name}Model", dict(parts(c, head=False)))

    def alone(c: ModelConfig) -> Module:
        return encoder(it.name, c)

    register(
        it.model_type,
        {f"{it.name}ForConditionalGeneration": generation, f"{it.name}Model": base},
        base=f"{it.name}Model",
        aliases={**LLAVA_ALIASES, "model.audio_tower.": "audio_tower."},
        category="multimodal",
    )
    if it.tower is not None:
        return
    register_part(f"{it.model_type}_encoder", f"{it.name}Encoder", alone, "audio")


register_listener(
    Listener(
        "Voxtral",
        "voxtral",
        "llama",
        # Four frames of the encoder's width, which is the width inside its MLP.
        lambda audio: audio.dim("intermediate_size", "encoder_ffn_dim", default=5120),
        lambda _: False,
        {
            "vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 8192,
            "num_hidden_layers": 30, "num_key_value_heads": 8, "head_dim": 128,
        },
    )
)  # fmt: skip
