"""Gemma 4 with vision and audio. Source: transformers/models/gemma4/modeling_gemma4.py.

The towers are optional: a null section means that the model has none. Their linears may clip input
and output to four recorded bounds (``use_clipped_linears``), which are buffers.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import register_worded
from ..trees.catalog import auto_model
from ..trees.modules import Activation, Linear, Module
from .gemma4_text import hidden as text_hidden
from .gemma4_text import text_model


def embedder(width: Dim, text: Dim) -> Module:
    return Module(
        "Gemma4MultimodalEmbedder",
        embedding_projection=Linear(width, text, bias=False),
        embedding_pre_projection_norm=Activation("Gemma4RMSNorm"),
        component=Component.PROJECTOR,
        part="projector",
    )


def model(c: ModelConfig) -> Module:
    text = c.section("text_config")
    parts: dict[str, Module] = {}
    bridges: dict[str, Module] = {}
    if c.has("vision_config"):
        vision = c.section("vision_config")
        parts["vision_tower"] = auto_model(vision, default_type="gemma4_vision", part="vision")
        width = vision.dim("output_proj_dims", default=vision.dim("hidden_size", default=768))
        bridges["embed_vision"] = embedder(width, text_hidden(text))
    if c.has("audio_config"):
        audio = c.section("audio_config")
        parts["audio_tower"] = auto_model(audio, default_type="gemma4_audio", part="audio")
        width = audio.dim("output_proj_dims", default=1536)
        bridges["embed_audio"] = embedder(width, text_hidden(text))
    return Module("Gemma4Model", {"language_model": text_model(text), **parts, **bridges})


register_worded("gemma4", "Gemma4", model, tied=True)
