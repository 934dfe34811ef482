"""Gemma 3n (Gemma Team 2025): text, vision and audio. Source: transformers/models/gemma3n.
Recording this class again needs timm and torchvision."""

from functools import partial

from ..layers.multimodal import any_model, projector, register_worded, within
from ..trees import Activation, Builder, Embedding, Linear, ModelConfig, Module, RMSNorm
from .gemma3n_text import hidden, text_model
from .gemma3n_vision import vision_model


def _embedder(key: str, usual: int, config: ModelConfig) -> Module:
    """A small vocabulary of the other modality next to its features; both end up at text width."""
    c = config.section(key)
    text = config.section("text_config")
    width = c.dim("hidden_size", default=usual)
    eps = c.number("rms_norm_eps", default=1e-6)
    norm = RMSNorm(width, eps=eps, class_name="Gemma3nRMSNorm")
    return projector(
        "Gemma3nMultimodalEmbedder",
        embedding=Embedding(c.dim("vocab_size", default=128), width, component=None, kind=None),
        hard_embedding_norm=norm,
        soft_embedding_norm=norm,
        embedding_projection=Linear(width, hidden(text), bias=False),
        embedding_post_projection_norm=Activation("Gemma3nRMSNorm"),
    )


_PARTS: dict[str, Builder] = {
    "vision_tower": within("vision_config", vision_model),
    "language_model": within("text_config", text_model),
    "audio_tower": any_model("audio_config", "gemma3n_audio", "audio"),
    "embed_vision": partial(_embedder, "vision_config", 2048),
    "embed_audio": partial(_embedder, "audio_config", 1536),
}
register_worded("gemma3n", "Gemma3n", _PARTS, tied=True)
