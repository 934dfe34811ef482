"""HyperCLOVA X SEED Think with vision (NAVER 2025).

Source of shapes: transformers/models/hyperclovax_vision_v2.

Qwen2.5-VL's tower (qwen2_5_vl.py), one linear layer, and HyperCLOVA X.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from . import qwen2_5_vl
from .modules import Linear, Module
from .multimodal import decoder, lm_head
from .registry import register

_NAME = "HyperCLOVAXVisionV2"


def base(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), decoder(c, "hyperclovax")
    seen = vision.dim("out_hidden_size", default=3584)
    projector = Linear(seen, text.hidden, component=Component.PROJECTOR)
    projector.part = "projector"
    return Module(
        f"{_NAME}Model",
        vision_model=qwen2_5_vl.vision_model(vision),
        vision_projector=projector,
        language_model=text.base,
    )


def generation(c: ModelConfig) -> Module:
    to = "model.language_model.embed_tokens.weight" if c.tied() else None
    head = lm_head(decoder(c, "hyperclovax"), to)
    return Module(f"{_NAME}ForConditionalGeneration", model=base(c), lm_head=head)


register(
    "hyperclovax_vision_v2",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    base=f"{_NAME}Model",
    base_prefix="model",
    category="multimodal",
)
