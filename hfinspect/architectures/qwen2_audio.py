"""Qwen2-Audio (Chu et al. 2024). Source: transformers/models/qwen2_audio/modeling_qwen2_audio.py.

Whisper's encoder, one linear layer, and a Qwen2 decoder whose head is never tied. File names and
their other spellings: multimodal.py.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.multimodal import LLAVA_ALIASES, decoder, language_model
from ..trees.catalog import register
from ..trees.modules import Conv, Embedding, LayerNorm, Layers, Linear, Module


def width(c: ModelConfig) -> Dim:
    return c.dim("d_model", "hidden_size", default=1280)


def encoder_layer(name: str, c: ModelConfig) -> Module:
    """Attention without a bias on the keys, and a plain MLP: 4·D² + 2·D·I weights."""
    d, inner = width(c), c.dim("encoder_ffn_dim", "intermediate_size", default=5120)
    return Module(
        f"{name}EncoderLayer",
        self_attn=Module(
            f"{name}Attention",
            k_proj=Linear(d, d, bias=False, kind="key"),
            v_proj=Linear(d, d, kind="value"),
            q_proj=Linear(d, d, kind="query"),
            out_proj=Linear(d, d, kind="output"),
            component=Component.ATTENTION,
        ),
        self_attn_layer_norm=LayerNorm(d),
        activation_fn=activation(c.text("activation_function", default="gelu")),
        fc1=Linear(d, inner, component=Component.MLP, kind="up"),
        fc2=Linear(inner, d, component=Component.MLP, kind="down"),
        final_layer_norm=LayerNorm(d),
    )


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
    base="Qwen2AudioModel",
    aliases={**LLAVA_ALIASES, "model.audio_tower.": "audio_tower."},
    category="multimodal",
)
register(
    "qwen2_audio_encoder",
    {"Qwen2AudioEncoder": audio_model},
    base="Qwen2AudioEncoder",
    category="audio",
)
