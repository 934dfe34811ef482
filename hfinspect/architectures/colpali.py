"""ColPali and those that follow it (Faysse et al. 2024): any model of images and text, and a short
vector for each of its tokens. Source: transformers/models/colpali, colqwen2 and colmodernvbert."""

from functools import partial

from ..layers.multimodal import text_width
from ..trees import Component, Linear, ModelConfig, Module, auto_model, register_part


def _model(name: str, default_type: str, c: ModelConfig) -> Module:
    inner = auto_model(c.section("vlm_config"), default_type=default_type)
    size = c.dim("embedding_dim", default=128)
    to = Component.HEAD
    return Module(
        name, vlm=inner, embedding_proj_layer=Linear(text_width(inner), size, component=to)
    )


_KINDS = ("ColPali", "paligemma"), ("ColQwen2", "qwen2_vl"), ("ColModernVBert", "modernvbert")
for _kind, _default in _KINDS:
    _build = partial(_model, _name := f"{_kind}ForRetrieval", _default)
    register_part(_kind.lower(), _name, _build, prefix="vlm")
