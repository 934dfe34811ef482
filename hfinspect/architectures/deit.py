"""DeiT (Touvron et al. 2020). Source of shapes: transformers/models/deit/modeling_deit.py.

A ViT with one more token, which learns from a teacher; files keep the names of ViT's layers.
"""

from ..core.config import ModelConfig
from ..layers.vision import labels_classifier
from ..trees.catalog import register
from ..trees.modules import Module, Weight
from .vit import hidden_size, masked_decoder
from .vit import model as vit_model


def model(c: ModelConfig, *, pooling: bool = True, mask_token: bool = False) -> Module:
    base = vit_model(c, name="DeiT", tokens=2, pooling=pooling, mask_token=mask_token)
    embeddings = base["embeddings"]
    assert isinstance(embeddings, Module)
    token = Weight(1, 1, hidden_size(c), kind="class_token")
    embeddings.children["distillation_token"] = token
    return base


def image_classification(c: ModelConfig) -> Module:
    return Module(
        "DeiTForImageClassification",
        deit=model(c, pooling=False),
        classifier=labels_classifier(c, hidden_size(c)),
        part="vision",
    )


def with_teacher(c: ModelConfig) -> Module:
    """One classifier on the class token, one on the distillation token."""
    return Module(
        "DeiTForImageClassificationWithTeacher",
        deit=model(c, pooling=False),
        cls_classifier=labels_classifier(c, hidden_size(c)),
        distillation_classifier=labels_classifier(c, hidden_size(c)),
        part="vision",
    )


def masked_image_modeling(c: ModelConfig) -> Module:
    return Module(
        "DeiTForMaskedImageModeling",
        deit=model(c, pooling=False, mask_token=True),
        decoder=masked_decoder(c),
        part="vision",
    )


register(
    "deit",
    {
        "DeiTForImageClassificationWithTeacher": with_teacher,
        "DeiTForImageClassification": image_classification,
        "DeiTModel": model,
        "DeiTForMaskedImageModeling": masked_image_modeling,
    },
    base="DeiTModel",
    base_prefix="deit",
    category="vision",
)
