"""HyperCLOVA X SEED Think with vision (NAVER 2025).

Source of shapes: transformers/models/hyperclovax_vision_v2.

Qwen2.5-VL's tower (qwen2_5_vl.py), one linear layer, and HyperCLOVA X.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.multimodal import decoder, lm_head
from ..trees.catalog import auto_model, register
from ..trees.modules import Linear, Module

_NAME = "HyperCLOVAXVisionV2"


def _tower(c: ModelConfig) -> Module:
    return auto_model(c.section("vision_config"), default_type="qwen2_5_vl_vision", part="vision")


def _projector(c: ModelConfig, hidden: int) -> Module:
    seen = c.section("vision_config").dim("out_hidden_size", default=3584)
    built = Linear(seen, hidden, component=Component.PROJECTOR)
    built.part = "projector"
    return built


def base(c: ModelConfig) -> Module:
    text = decoder(c, "hyperclovax")
    return Module(
        f"{_NAME}Model",
        vision_model=_tower(c),
        projector=_projector(c, text.hidden),
        language_model=text.base,
    )


def generation(c: ModelConfig) -> Module:
    """Files keep the head within the decoder and call the projector ``vision_projector``."""
    text = decoder(c, "hyperclovax")
    to = "embed_tokens.weight" if c.tied() else None  # within the decoder's own names
    text.base.children["lm_head"] = lm_head(text, to)
    model = Module(
        f"{_NAME}Model",
        vision_model=_tower(c),
        vision_projector=_projector(c, text.hidden),
        language_model=text.base,
    )
    return Module(f"{_NAME}ForConditionalGeneration", model=model)


register(
    "hyperclovax_vision_v2",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    category="multimodal",
)
