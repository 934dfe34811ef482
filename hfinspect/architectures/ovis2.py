"""Ovis 2 (Lu et al. 2024): AIMv2's ViT (a trace), whose output is a probability of visual words.
Their table and the head are as wide as the config says, whatever the text model is. Source of
shapes: transformers/models/ovis2/modeling_ovis2.py."""

from ..core.config import ModelConfig
from ..layers.blocks import size
from ..layers.heads import to_words
from ..layers.multimodal import decoder, register_worded, within
from ..trees.modules import Embedding, Module

_width = size("hidden_size", default=1536)


def _visual_words(c: ModelConfig) -> Module:
    count = c.section("vision_config").dim("vocab_size", default=16384)
    return Embedding(count, _width(c), class_name="Ovis2VisualEmbeddingTable")


def _head(c: ModelConfig) -> Module:
    to = "model.language_model.embed_tokens.weight" if c.tied() else None
    return to_words(_width(c), c.dim("vocab_size", default=151643), to)


_PARTS = {
    "vision_tower": within("vision_config", "Ovis2VisionModel"),
    "language_model": lambda c: decoder(c, "qwen2").base,
    "visual_embeddings_table": _visual_words,
}
register_worded("ovis2", "Ovis2", _PARTS, head=_head)
