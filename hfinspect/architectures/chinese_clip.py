"""Chinese CLIP (Yang et al. 2022). Source of shapes: transformers/models/chinese_clip.

CLIP's vision tower (clip.py) and BERT for the texts, each with its projection.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import renamed
from ..trees.catalog import register_part
from ..trees.modules import Linear, Module, Weight
from . import clip

_NAME = "ChineseCLIP"

text_model = partial(encoders.tower, name=f"{_NAME}Text")


def vision_model(c: ModelConfig) -> Module:
    tower = renamed(clip.vision_model(c), "CLIPEncoderLayer", f"{_NAME}VisionLayer")
    renamed(tower, "CLIPEncoder", f"{_NAME}VisionEncoder")
    for part in ("Attention", "MLP"):
        renamed(tower, f"CLIP{part}", f"{_NAME}Vision{part}")
    return renamed(tower, "CLIP", _NAME)


def both(c: ModelConfig) -> Module:
    text, vision = c.section("text_config"), c.section("vision_config")
    shared = c.dim("projection_dim", default=512)

    def projection(section: ModelConfig) -> Module:
        width = section.dim("hidden_size", default=768)
        return Linear(width, shared, bias=False, component=Component.PROJECTOR)

    return Module(
        f"{_NAME}Model",
        logit_scale=Weight(kind="scale"),
        text_model=text_model(text, pooling=False),
        vision_model=vision_model(vision),
        visual_projection=projection(vision),
        text_projection=projection(text),
    )


register_part("chinese_clip", f"{_NAME}Model", both, "vision")
register_part("chinese_clip_text_model", f"{_NAME}TextModel", text_model, "encoder")
register_part("chinese_clip_vision_model", f"{_NAME}VisionModel", vision_model, "vision")
