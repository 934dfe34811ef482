"""HyperCLOVA X SEED Think with vision (NAVER 2025): Qwen2.5-VL's tower and a linear layer before
it. Source of shapes: transformers/models/hyperclovax_vision_v2."""

from ..layers.multimodal import decoder, linear_projector, lm_head, tower
from ..trees import ModelConfig, Module, register_pair

_NAME = "HyperCLOVAXVisionV2"


def _model(c: ModelConfig, *, whole: bool = False) -> Module:
    """Files of the whole have the head in the decoder and call the projector otherwise."""
    text, vision = decoder(c, "hyperclovax"), c.section("vision_config")
    to = "embed_tokens.weight" if c.tied() else None  # within the decoder's own names
    seen = linear_projector(vision.dim("out_hidden_size", default=3584), text.hidden)
    parts = {
        "vision_model": tower(c, "vision_config", "qwen2_5_vl_vision", "vision"),
        "vision_projector" if whole else "projector": seen,
        "language_model": text.base.adding(lm_head=lm_head(text, to) if whole else None),
    }
    return Module(f"{_NAME}Model", dict(parts))


def _generation(c: ModelConfig) -> Module:
    return Module(f"{_NAME}ForConditionalGeneration", model=_model(c, whole=True))


register_pair("hyperclovax_vision_v2", _NAME, _generation, _model, "multimodal", prefix="")
