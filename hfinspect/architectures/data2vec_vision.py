"""data2vec for images (Baevski et al. 2022). Source: transformers/models/data2vec.

BEiT (beit.py) under other class names; its class for segmentation is not in the catalog.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers.composing import renamed_classes
from ..trees.catalog import Builder, register
from ..trees.modules import Module
from . import beit

_NAME = "Data2VecVision"


def _respelled(module: Module) -> None:
    if module.class_name == "BeitSelfAttention":
        module.class_name = "BeitSdpaSelfAttention"
    for child in module.children.values():
        if isinstance(child, Module):
            _respelled(child)


def _under(build: Builder) -> Builder:
    """The same with the model under its own attribute."""

    def built(c: ModelConfig) -> Module:
        root = build(c)
        _respelled(root)
        root.children = {
            "data2vec_vision" if name == "beit" else name: child
            for name, child in root.children.items()
        }
        return root

    return built


def model(c: ModelConfig) -> Module:
    return beit.model(c, pooling=False)


register(
    "data2vec-vision",
    renamed_classes(
        {
            "BeitForImageClassification": _under(beit.image_classification),
            "BeitModel": _under(model),
        },
        "Beit",
        _NAME,
    ),
    base=f"{_NAME}Model",
    base_prefix="data2vec_vision",
    category="vision",
)
