"""Table Transformer (Smock et al. 2021). Source: transformers/models/table_transformer.

DETR (detr.py) with norms before attention and MLP, and so one more after the encoder.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.deformable import width
from ..trees.catalog import register
from ..trees.modules import LayerNorm, Module
from . import detr

_NAME = "TableTransformer"


def _normed(root: Module, c: ModelConfig) -> Module:
    model = root["model"] if "model" in root.children else root
    assert isinstance(model, Module)
    encoder = model.inside("encoder")
    encoder.children["layernorm"] = LayerNorm(width(c))
    backbone = model.inside("backbone")
    backbone.class_name = "DetrConvModel"
    if "position_embedding" in model.children:
        backbone.children["position_embedding"] = model.children.pop("position_embedding")
    for kind in ("Self", "Cross"):
        renamed(root, f"Detr{kind}Attention", f"{_NAME}Attention")
    return renamed(root, "Detr", _NAME)


def model(c: ModelConfig) -> Module:
    return _normed(detr.model(c), c)


def object_detection(c: ModelConfig) -> Module:
    return _normed(detr.object_detection(c), c)


register(
    "table-transformer",
    {f"{_NAME}ForObjectDetection": object_detection, f"{_NAME}Model": model},
    base_prefix="model",
    category="vision",
)
