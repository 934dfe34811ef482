"""Any image encoder and any text encoder, joined as CLIP joins its own. Source:
transformers/models/vision_text_dual_encoder/modeling_vision_text_dual_encoder.py."""

from functools import partial

from ..layers.multimodal import text_width, tower_width
from ..trees import Component, Linear, ModelConfig, Module, Weight, auto_model, register_part

_NAME = "VisionTextDualEncoderModel"


def model(c: ModelConfig) -> Module:
    tower = auto_model(c.section("vision_config"), default_type="vit", part="vision")
    read = auto_model(c.section("text_config"), default_type="bert", part="text")
    shared = c.dim("projection_dim", default=512)
    to = partial(Linear, out_features=shared, bias=False, component=Component.PROJECTOR)
    both = {"visual_projection": to(tower_width(tower)), "text_projection": to(text_width(read))}
    towers = {"vision_model": tower, "text_model": read}
    return Module(_NAME, {**towers, **both}, logit_scale=Weight(kind="scale"))


register_part("vision-text-dual-encoder", _NAME, model, "multimodal")
