"""Ovis 2 (Lu et al. 2024; transformers/models/ovis2): AIMv2's ViT (a trace) puts out a probability
of visual words. Their table and the head are as wide as the config says, whatever the text is."""

from ..layers.blocks import size
from ..layers.heads import to_words
from ..layers.multimodal import decoder, register_worded, within
from ..trees import Embedding, ModelConfig, Module

_width = size("hidden_size", default=1536)


def _head(c: ModelConfig) -> Module:
    to = "model.language_model.embed_tokens.weight" if c.tied() else None
    return to_words(_width(c), c.dim("vocab_size", default=151643), to)


_PARTS = {
    "vision_tower": within("vision_config", "Ovis2VisionModel"),
    "language_model": lambda c: decoder(c, "qwen2").base,
    "visual_embeddings_table": lambda c: Embedding(
        c.section("vision_config").dim("vocab_size", default=16384),
        _width(c),
        class_name="Ovis2VisualEmbeddingTable",
    ),
}
register_worded("ovis2", "Ovis2", _PARTS, head=_head)
