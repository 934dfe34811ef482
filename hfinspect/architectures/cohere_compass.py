"""Cohere Compass: Command R7B's decoder and Qwen3-VL's vision tower.

Source of shapes: transformers/models/cohere_compass/modeling_cohere_compass.py.
"""

from functools import partial

from ..core.config import ModelConfig
from ..layers.decoders import grouped
from ..layers.heads import causal_lm, sequence_classification
from ..layers.multimodal import register_worded
from ..layers.windows import windows
from ..trees.catalog import register, register_part
from ..trees.modules import Module
from .cohere import COHERE
from .qwen3_vl import vision_model

_NAME = "CohereCompass"
_TEXT = COHERE.like(
    _NAME, attention=grouped, windows=lambda c: windows(c, 4096, lambda _i, _n: True),
)  # fmt: skip


def text_model(c: ModelConfig) -> Module:
    base = _TEXT.model(c)
    base.class_name = "CohereCompassTextModel"
    return base


def model(c: ModelConfig) -> Module:
    return Module(
        "CohereCompassModel",
        visual=vision_model(_NAME, c.section("vision_config")),
        language_model=text_model(c.section("text_config")),
    )


register(
    "cohere_compass_text",
    {
        "CohereCompassForCausalLM": causal_lm(
            "CohereCompassForCausalLM", text_model, tied_default=True
        ),
        "CohereCompassTextModel": text_model,
        "CohereCompassTextForSequenceClassification": sequence_classification(
            "CohereCompassTextForSequenceClassification", text_model, hidden=_TEXT.width
        ),
    },
    base_prefix="model",
    category="text decoder",
)
register_worded("cohere_compass", _NAME, model, tied=False)
register_part(
    "cohere_compass_vision", f"{_NAME}VisionModel", partial(vision_model, _NAME), "vision"
)
