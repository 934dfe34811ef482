"""ALIGN (Jia et al. 2021): EfficientNet without its last convolution, and BERT.
Source of shapes: transformers/models/align/modeling_align.py."""

from functools import partial

from ..layers import encoders
from ..layers.composing import renamed
from ..trees import Component, Linear, ModelConfig, Module, Weight, register_part
from . import efficientnet

text_model = partial(encoders.tower, name="AlignText")


def vision_model(c: ModelConfig) -> Module:
    tower = efficientnet.model(c)
    tower.inside("encoder").without("top_conv", "top_bn", "top_activation")
    return renamed(tower, "EfficientNet", "AlignVision")


def model(c: ModelConfig) -> Module:
    text = c.section("text_config")
    width = text.dim("hidden_size", default=768)
    out = c.dim("projection_dim", default=640)
    to = Linear(width, out, component=Component.PROJECTOR)
    vision = c.section("vision_config")
    towers = {"text_model": text_model(text), "vision_model": vision_model(vision)}
    return Module("AlignModel", {"temperature": Weight(kind="scale"), **towers}, text_projection=to)


register_part("align", "AlignModel", model, "vision")
register_part("align_vision_model", "AlignVisionModel", vision_model, "vision")
register_part("align_text_model", "AlignTextModel", text_model, "encoder")
