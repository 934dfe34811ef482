"""YOLOS (Fang et al. 2021). Source of shapes: transformers/models/yolos/modeling_yolos.py.

A ViT (vit.py) with a hundred tokens that look for objects, and positions again before every layer.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.vision import pair
from ..trees.catalog import register
from ..trees.modules import Linear, Module, ModuleList, Parameter, Weight
from . import vit

_NAME = "Yolos"
_IMAGE = (512, 864)


def _config(c: ModelConfig) -> ModelConfig:
    return c.with_defaults(image_size=list(_IMAGE))


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    c = _config(c)
    h, found = vit.hidden_size(c), c.dim("num_detection_tokens", default=100, minimum=0)
    built = vit.model(c, name=_NAME, tokens=1 + int(found), pooling=pooling)
    table, encoder = built["embeddings"], built["encoder"]
    assert isinstance(table, Module) and isinstance(encoder, Module)
    parts: dict[str, Module | Parameter] = {}
    for name, part in table.children.items():
        parts[name] = part
        if name == "cls_token":
            parts["detection_tokens"] = Weight(1, found, h, kind="detection_token")
    table.children = parts
    layers = int(c.count("num_hidden_layers", default=12))
    if c.flag("use_mid_position_embeddings", default=True) and layers > 1:
        image, patch = pair(c, "image_size", default=_IMAGE), c.dim("patch_size", default=16)
        length = 1 + image[0] * image[1] // (patch * patch) + found
        encoder.children["mid_position_embeddings"] = Weight(
            layers - 1, 1, length, h, component=Component.EMBEDDING, kind="position"
        )
    return built


def _predictor(h: Dim, outputs: int) -> Module:
    linears = [Linear(h, h), Linear(h, h), Linear(h, outputs)]
    return Module(f"{_NAME}MLPPredictionHead", layers=ModuleList(linears), component=Component.HEAD)


def detection(c: ModelConfig) -> Module:
    h = vit.hidden_size(c)
    return Module(
        f"{_NAME}ForObjectDetection",
        vit=model(c, pooling=False),
        # One class more: no object.
        class_labels_classifier=_predictor(h, c.num_labels + 1),
        bbox_predictor=_predictor(h, 4),
        part="vision",
    )


register(
    "yolos",
    {f"{_NAME}ForObjectDetection": detection, f"{_NAME}Model": model},
    base=f"{_NAME}Model",
    base_prefix="vit",
    category="vision",
)
