"""PaddleOCR-VL (Baidu 2025). Source of shapes: transformers/models/paddleocr_vl.

A SigLIP tower with 2D rotary positions (a trace), a projector over 2x2 patches, and ERNIE 4.5's
decoder. File names are those of the first release: the decoder is ``model``, the projector
``mlp_AR``.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import projector, register_flat
from ..trees.catalog import builder
from ..trees.modules import Activation, LayerNorm, Linear, Module
from .ernie4_5 import ERNIE

_NAME = "PaddleOCR"
_TEXT = ERNIE.like(_NAME)


def _projector(config: ModelConfig, hidden: Dim) -> Module:
    c = config.section("vision_config")
    width, side = c.dim("hidden_size", default=1152), c.dim("spatial_merge_size", default=2)
    joined = width * side * side
    return projector(
        f"{_NAME}Projector",
        pre_norm=LayerNorm(width),
        linear_1=Linear(joined, joined),
        act=Activation("GELUActivation"),
        linear_2=Linear(joined, hidden),
    )


def _tower(c: ModelConfig, _: Dim) -> Module:
    return builder(f"{_NAME}VisionModel")(c.section("vision_config"))


register_flat(
    "paddleocr_vl", f"{_NAME}VL", _TEXT, {"visual": _tower, "projector": _projector}, tied=True,
    files={"projector": "mlp_AR"},
)  # fmt: skip
