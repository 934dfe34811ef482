"""ColPali and those that follow it (Faysse et al. 2024): a vector for each token of a page.
Source: transformers/models/colpali, colqwen2 and colmodernvbert.

Any model of images and text, and one linear layer to a short vector.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.multimodal import text_width
from ..trees.catalog import Builder, auto_model, register
from ..trees.modules import Linear, Module


def retrieval(name: str, default_type: str) -> Builder:
    """The class of that name; an absent ``vlm_config`` is one of ``default_type``."""

    def model(c: ModelConfig) -> Module:
        inner = auto_model(c.section("vlm_config"), default_type=default_type)
        short = Linear(
            text_width(inner), c.dim("embedding_dim", default=128), component=Component.HEAD
        )
        return Module(name, vlm=inner, embedding_proj_layer=short)

    return model


for model_type, class_name, inner_type in (
    ("colpali", "ColPaliForRetrieval", "paligemma"),
    ("colqwen2", "ColQwen2ForRetrieval", "qwen2_vl"),
    ("colmodernvbert", "ColModernVBertForRetrieval", "modernvbert"),
):
    register(
        model_type,
        {class_name: retrieval(class_name, inner_type)},
        base_prefix="vlm",
        category="multimodal",
    )
