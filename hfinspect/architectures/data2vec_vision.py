"""data2vec for images (Baevski et al. 2022). Source: transformers/models/data2vec.

BEiT (beit.py) under other class names.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed_classes
from ..trees.catalog import Builder, register
from ..trees.modules import Module, ModuleList
from . import beit

_NAME = "Data2VecVision"
#: Parts of the heads for segmentation: BEiT's name in files, and the one here.
_SPELLED = {
    "BeitConvLayer": {"conv": "convolution", "bn": "normalization"},
    "BeitUperHead": {"bottleneck": "psp_bottleneck"},
}


def _respelled(module: Module) -> None:
    if module.class_name == "BeitSelfAttention":
        module.class_name = "BeitSdpaSelfAttention"
    spelled = _SPELLED.get(module.class_name, {})
    module.children = {spelled.get(name, name): part for name, part in module.children.items()}
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


def segmentation(c: ModelConfig) -> Module:
    """BEiT's, whose pooled maps have names instead of numbers here."""
    root = beit.semantic_segmentation(c)
    head = root.inside("decode_head")
    h = c.dim("hidden_size", default=768)
    block = Module(f"{_NAME}PyramidPoolingBlock", conv=beit.conv_layer(h, h, 1))
    scales = len(c.dims("pool_scales", default=(1, 2, 3, 6)))
    head.children["psp_modules"] = Module(
        f"{_NAME}PyramidPoolingModule", blocks=ModuleList([block] * scales)
    )
    return root


def model(c: ModelConfig) -> Module:
    return beit.model(c, pooling=False)


register(
    "data2vec-vision",
    renamed_classes(
        {
            "BeitForImageClassification": _under(beit.image_classification),
            "BeitForSemanticSegmentation": _under(segmentation),
            "BeitModel": _under(model),
        },
        "Beit",
        _NAME,
    ),
    base_prefix="data2vec_vision",
    category="vision",
)
