"""Gemma 3n (Gemma Team 2025): text, vision and audio.

Source of shapes: transformers/models/gemma3n/modeling_gemma3n.py. Recording this class again needs
timm and torchvision.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import register_worded
from ..trees.catalog import auto_model
from ..trees.modules import Activation, Embedding, Linear, Module, RMSNorm
from .gemma3n_text import hidden as text_hidden
from .gemma3n_text import text_model
from .gemma3n_vision import vision_model


def embedder(c: ModelConfig, width: Dim, text: ModelConfig) -> Module:
    """A small vocabulary of the other modality next to its features; both end up at text width."""
    norm = RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-6), class_name="Gemma3nRMSNorm")
    return Module(
        "Gemma3nMultimodalEmbedder",
        embedding=Embedding(c.dim("vocab_size", default=128), width, component=None, kind=None),
        hard_embedding_norm=norm,
        soft_embedding_norm=norm,
        embedding_projection=Linear(width, text_hidden(text), bias=False),
        embedding_post_projection_norm=Activation("Gemma3nRMSNorm"),
        component=Component.PROJECTOR,
        part="projector",
    )


def model(c: ModelConfig) -> Module:
    text, vision = c.section("text_config"), c.section("vision_config")
    audio = c.section("audio_config")
    return Module(
        "Gemma3nModel",
        vision_tower=vision_model(vision),
        language_model=text_model(text),
        audio_tower=auto_model(audio, default_type="gemma3n_audio", part="audio"),
        embed_vision=embedder(vision, vision.dim("hidden_size", default=2048), text),
        embed_audio=embedder(audio, audio.dim("hidden_size", default=1536), text),
    )


register_worded("gemma3n", "Gemma3n", model, tied=True)
