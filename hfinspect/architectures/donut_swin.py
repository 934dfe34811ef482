"""Donut's image encoder (Kim et al. 2021). Source: transformers/models/donut.

Swin without the norm after its last stage; the file holds which offset each pair of positions has.
It comes inside a vision-encoder-decoder.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.vision import labels_classifier
from ..trees.catalog import find_type, register
from ..trees.modules import Buffer, Module, Parameter, Weight
from . import swin


def model(c: ModelConfig) -> Module:
    family = find_type("swin")
    assert family is not None
    tree = family.classes["SwinModel"](c)
    del tree.children["layernorm"]
    embeddings = tree.inside("embeddings")
    table = embeddings.children.get("position_embeddings")
    if isinstance(table, Parameter):
        one, patches, width = table.shape
        embeddings.children["position_embeddings"] = Weight(
            one, patches + 1, width, kind="position"
        )
    window = c.dim("window_size", default=7)
    _with_index(tree, Buffer(window * window, window * window, dtype="I64"))
    return renamed(tree, "Swin", "DonutSwin")


def _with_index(module: Module, index: Parameter) -> None:
    for name, child in module.children.items():
        if isinstance(child, Module):
            _with_index(child, index)
        elif name == "relative_position_index":
            module.children[name] = index


def image_classification(c: ModelConfig) -> Module:
    width = swin.stages(c)[-1][0]
    return Module(
        "DonutSwinForImageClassification",
        donut=model(c),
        classifier=labels_classifier(c, width),
        part="vision",
    )


register(
    "donut-swin",
    {"DonutSwinModel": model, "DonutSwinForImageClassification": image_classification},
    base_prefix="donut",
    category="vision",
)
