"""HyperCLOVA X SEED Think with vision (NAVER 2025): Qwen2.5-VL's tower and a linear layer before
it. Source of shapes: transformers/models/hyperclovax_vision_v2."""

from ..layers.heads import to_words
from ..layers.multimodal import any_model, decoder, linear_projector
from ..trees import ModelConfig, Module, register_pair

_NAME = "HyperCLOVAXVisionV2"


def _model(c: ModelConfig, *, generates: bool = False) -> Module:
    """Files of the whole have the head in the decoder and call the projector otherwise."""
    text = decoder(c, "hyperclovax")
    vision = c.section("vision_config")
    to = "embed_tokens.weight" if c.tied() else None  # within the decoder's own names
    projector = linear_projector(vision.dim("out_hidden_size", default=3584), text.hidden)
    head = to_words(text.hidden, text.vocab, to) if generates else None
    parts = {
        "vision_model": any_model("vision_config", "qwen2_5_vl_vision", "vision")(c),
        "vision_projector" if generates else "projector": projector,
        "language_model": text.base.adding(lm_head=head),
    }
    return Module(f"{_NAME}Model", dict(parts))


def _generation(c: ModelConfig) -> Module:
    return Module(f"{_NAME}ForConditionalGeneration", model=_model(c, generates=True))


register_pair("hyperclovax_vision_v2", _NAME, _generation, _model, "multimodal", prefix="")
