"""data2vec for images (Baevski et al. 2022): BEiT (beit.py) under other class names.
Source: transformers/models/data2vec."""

from functools import partial

from ..layers.composing import changed, renamed, renamed_classes, respelled
from ..layers.pyramids import normed
from ..trees import ModelConfig, Module, ModuleList, builder, register
from . import beit

_NAME = "Data2VecVision"
#: BEiT's name of a part in files, and the one here.
_CONV = {"conv": "convolution", "bn": "normalization"}
_SPELLED = {"beit": "data2vec_vision", "bottleneck": "psp_bottleneck", **_CONV}


def _own(c: ModelConfig, root: Module) -> None:
    """BEiT's pooled maps have names instead of numbers here."""
    respelled(renamed(root, "BeitSelfAttention", "BeitSdpaSelfAttention"), _SPELLED)
    if "decode_head" in root.children:
        h = c.dim("hidden_size", default=768)
        scales = c.dims("pool_scales", default=(1, 2, 3, 6))
        conv = normed(f"{_NAME}ConvLayer", *_CONV.values())(h, h, 1)
        blocks = ModuleList([Module(f"{_NAME}PyramidPoolingBlock", conv=conv)] * len(scales))
        pooled = Module(f"{_NAME}PyramidPoolingModule", blocks=blocks)
        root.inside("decode_head").adding(psp_modules=pooled)


_LABELLED = ("BeitForImageClassification", "BeitForSemanticSegmentation")
_CLASSES = {name: builder(name) for name in _LABELLED}
_CLASSES["BeitModel"] = partial(beit.model, pooling=False)
_BUILT = renamed_classes(changed(_CLASSES, _own), "Beit", _NAME)
register("data2vec-vision", _BUILT, base_prefix="data2vec_vision", category="vision")
