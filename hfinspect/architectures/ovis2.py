"""Ovis 2 (Lu et al. 2024). Source of shapes: transformers/models/ovis2/modeling_ovis2.py.

AIMv2's ViT (a trace), whose output is a probability of visual words; a table of those words stands
next to the decoder's.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.heads import to_words
from ..layers.multimodal import decoder
from ..trees.catalog import builder, register_pair
from ..trees.modules import Embedding, Module

_NAME = "Ovis2"


_words = size("vocab_size", default=16384)


def _width(c: ModelConfig) -> Dim:
    """Of the visual words and the head: the config's own, whatever the text model's is."""
    return c.dim("hidden_size", default=1536)


def base(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    return Module(
        f"{_NAME}Model",
        vision_tower=builder(f"{_NAME}VisionModel")(vision),
        language_model=decoder(c, "qwen2").base,
        visual_embeddings_table=Embedding(
            _words(vision), _width(c), class_name=f"{_NAME}VisualEmbeddingTable"
        ),
    )


def generation(c: ModelConfig) -> Module:
    to = "model.language_model.embed_tokens.weight" if c.tied() else None
    head = to_words(_width(c), c.dim("vocab_size", default=151643), to)
    return Module(f"{_NAME}ForConditionalGeneration", model=base(c), lm_head=head)


register_pair("ovis2", _NAME, generation, base, "multimodal")
