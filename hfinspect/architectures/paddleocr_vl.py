"""PaddleOCR-VL (Baidu 2025): a SigLIP tower (a trace), a projector over 2x2 patches, and ERNIE
4.5's decoder. Source: transformers/models/paddleocr_vl. File names are the first release's."""

from ..layers.multimodal import register_flat, two_linears
from ..trees import Activation, Dim, LayerNorm, ModelConfig, Module
from .ernie4_5 import ERNIE


def _projector(config: ModelConfig, hidden: Dim) -> Module:
    c = config.section("vision_config")
    width = c.dim("hidden_size", default=1152)
    side = c.dim("spatial_merge_size", default=2)
    joined = width * side * side
    act = Activation("GELUActivation")
    norm = LayerNorm(width)
    return two_linears("PaddleOCRProjector", c, joined, joined, hidden, act=act, pre_norm=norm)


register_flat(
    "paddleocr_vl",
    "PaddleOCRVL",
    ERNIE.like("PaddleOCR"),
    {"visual": "PaddleOCRVisionModel", "projector": _projector},
    tied=True,
    files={"projector": "mlp_AR"},
)
