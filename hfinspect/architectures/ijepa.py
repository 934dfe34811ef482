"""I-JEPA (Assran et al. 2023). Source of shapes: transformers/models/ijepa/modeling_ijepa.py.

A ViT (vit.py) without a class token.
"""

from ..core.config import ModelConfig
from ..layers.vision import labels_classifier
from ..trees.catalog import register
from ..trees.modules import Module
from . import vit


def model(c: ModelConfig) -> Module:
    built = vit.model(c, name="IJepa", tokens=0, pooling=False)
    table = built["embeddings"]
    assert isinstance(table, Module)
    del table.children["cls_token"]
    return built


def image_classification(c: ModelConfig) -> Module:
    return Module(
        "IJepaForImageClassification",
        ijepa=model(c),
        classifier=labels_classifier(c, vit.hidden_size(c)),
        part="vision",
    )


register(
    "ijepa",
    {"IJepaModel": model, "IJepaForImageClassification": image_classification},
    base="IJepaModel",
    base_prefix="ijepa",
    category="vision",
)
