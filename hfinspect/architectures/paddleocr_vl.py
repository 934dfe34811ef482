"""PaddleOCR-VL (Baidu 2025). Source of shapes: transformers/models/paddleocr_vl.

A SigLIP tower with 2D rotary positions (a trace), a projector over 2x2 patches, and ERNIE 4.5's
decoder. File names are those of the first release: the decoder is ``model``, the projector
``mlp_AR``.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import projector
from ..trees.catalog import builder, register
from ..trees.modules import Activation, LayerNorm, Linear, Module
from .ernie4_5 import ERNIE

_NAME = "PaddleOCR"
_TEXT = ERNIE.like(_NAME)


def _projector(c: ModelConfig, hidden: Dim) -> Module:
    width, side = c.dim("hidden_size", default=1152), c.dim("spatial_merge_size", default=2)
    joined = width * side * side
    return projector(
        f"{_NAME}Projector",
        pre_norm=LayerNorm(width),
        linear_1=Linear(joined, joined),
        act=Activation("GELUActivation"),
        linear_2=Linear(joined, hidden),
    )


def _text(c: ModelConfig) -> ModelConfig:
    """The first release has the decoder's keys at the top."""
    return c.section("text_config") if c.has("text_config") else c


def _towers(c: ModelConfig, leading: str) -> dict[str, Module]:
    vision = c.section("vision_config")
    return {
        "visual": builder(f"{_NAME}VisionModel")(vision),
        leading: _projector(vision, _TEXT.width(_text(c))),
    }


def generation(c: ModelConfig) -> Module:
    text = _text(c)
    to = "model.embed_tokens.weight" if c.tied() or text.tied() else None
    return Module(
        f"{_NAME}VLForConditionalGeneration",
        {
            **_towers(c, "mlp_AR"),
            "model": _TEXT.named(f"{_NAME}VLModel", text),  # what stands there in memory
            "lm_head": _TEXT.words(text, to),
        },
    )


def base(c: ModelConfig) -> Module:
    """A save of it alone has the names of transformers' own attributes."""
    decoder = _TEXT.named(f"{_NAME}TextModel", _text(c))
    return Module(f"{_NAME}VLModel", {**_towers(c, "projector"), "language_model": decoder})


register(
    "paddleocr_vl",
    {f"{_NAME}VLForConditionalGeneration": generation, f"{_NAME}VLModel": base},
    base=f"{_NAME}VLForConditionalGeneration",
    aliases={
        "model.language_model.": "model.",
        "model.visual.": "visual.",
        "model.projector.": "mlp_AR.",
    },
    category="multimodal",
)
