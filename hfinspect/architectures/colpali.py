"""ColPali and those that follow it (Faysse et al. 2024): any model of images and text, and a short
vector for each of its tokens. Source: transformers/models/colpali, colqwen2 and colmodernvbert."""

from ..core.nouns import Component, ModelConfig
from ..layers.multimodal import text_width
from ..trees.catalog import auto_model, register
from ..trees.modules import Linear, Module


def _register(model_type: str, name: str, default_type: str) -> None:
    """The class of that name; an absent ``vlm_config`` is one of ``default_type``."""

    def model(c: ModelConfig) -> Module:
        inner = auto_model(c.section("vlm_config"), default_type=default_type)
        size = c.dim("embedding_dim", default=128)
        short = Linear(text_width(inner), size, component=Component.HEAD)
        return Module(name, vlm=inner, embedding_proj_layer=short)

    register(model_type, {name: model}, base_prefix="vlm", category="multimodal")


_register("colpali", "ColPaliForRetrieval", "paligemma")
_register("colqwen2", "ColQwen2ForRetrieval", "qwen2_vl")
_register("colmodernvbert", "ColModernVBertForRetrieval", "modernvbert")
