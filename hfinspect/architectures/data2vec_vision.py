"""data2vec for images (Baevski et al. 2022). Source: transformers/models/data2vec.

BEiT (beit.py) under other class names.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed, renamed_classes, respelled
from ..layers.pyramids import normed
from ..trees.catalog import builder, register
from ..trees.modules import Module, ModuleList
from . import beit

_NAME = "Data2VecVision"
#: BEiT's name of a part in files, and the one here.
_SPELLED = {
    "beit": "data2vec_vision", "conv": "convolution", "bn": "normalization",
    "bottleneck": "psp_bottleneck",
}  # fmt: skip


def _own(root: Module) -> Module:
    return respelled(renamed(root, "BeitSelfAttention", "BeitSdpaSelfAttention"), _SPELLED)


def segmentation(c: ModelConfig) -> Module:
    """BEiT's, whose pooled maps have names instead of numbers here."""
    root = _own(beit.semantic_segmentation(c))
    h, scales = c.dim("hidden_size", default=768), c.dims("pool_scales", default=(1, 2, 3, 6))
    conv = normed(f"{_NAME}ConvLayer", "convolution", "normalization")(h, h, 1)
    blocks = ModuleList([Module(f"{_NAME}PyramidPoolingBlock", conv=conv)] * len(scales))
    pooled = Module(f"{_NAME}PyramidPoolingModule", blocks=blocks)
    root.inside("decode_head").adding(psp_modules=pooled)
    return root


_CLASSES = {
    "BeitForImageClassification": lambda c: _own(builder("BeitForImageClassification")(c)),
    "BeitForSemanticSegmentation": segmentation,
    "BeitModel": lambda c: _own(beit.model(c, pooling=False)),
}

register(
    "data2vec-vision",
    renamed_classes(_CLASSES, "Beit", _NAME),
    base_prefix="data2vec_vision",
    category="vision",
)
