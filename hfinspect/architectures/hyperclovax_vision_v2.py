"""HyperCLOVA X SEED Think with vision (NAVER 2025): Qwen2.5-VL's tower and a linear layer before
it. Source of shapes: transformers/models/hyperclovax_vision_v2."""

from ..core.config import ModelConfig
from ..layers.multimodal import decoder, linear_projector, lm_head, tower
from ..trees.catalog import register
from ..trees.modules import Module

_NAME = "HyperCLOVAXVisionV2"


def _model(c: ModelConfig, *, whole: bool = False) -> Module:
    """Files of the whole keep the head within the decoder and call the projector
    ``vision_projector``."""
    text = decoder(c, "hyperclovax")
    if whole:
        to = "embed_tokens.weight" if c.tied() else None  # within the decoder's own names
        text.base.children["lm_head"] = lm_head(text, to)
    seen = c.section("vision_config").dim("out_hidden_size", default=3584)
    parts = {
        "vision_model": tower(c, "vision_config", "qwen2_5_vl_vision", "vision"),
        "vision_projector" if whole else "projector": linear_projector(seen, text.hidden),
        "language_model": text.base,
    }
    return Module(f"{_NAME}Model", dict(parts))


def _generation(c: ModelConfig) -> Module:
    return Module(f"{_NAME}ForConditionalGeneration", model=_model(c, whole=True))


_CLASSES = {f"{_NAME}ForConditionalGeneration": _generation, f"{_NAME}Model": _model}
register("hyperclovax_vision_v2", _CLASSES, category="multimodal")
