"""CLIP (Radford et al. 2021). Source of shapes: transformers/models/clip/modeling_clip.py.

Two towers of one layer, each with its projection into the shared space, and a temperature.
A tower saved alone lost its prefix (``text_model.``, ``vision_model.``) in transformers 5; files of
before, text encoders of diffusion pipelines among them, have it.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import Part, composed
from ..layers.vision import (
    clip_embeddings,
    clip_layers,
    clip_tower,
    labels_classifier,
    text_embeddings,
)
from ..trees.catalog import register
from ..trees.modules import LayerNorm, Linear, Module, Weight


def text_section(c: ModelConfig) -> ModelConfig:
    """The text tower's config, whole configs included (text_config_dict overrides, as there)."""
    return _of_whole(c, "text_config_dict", "text_config")


def vision_section(c: ModelConfig) -> ModelConfig:
    return _of_whole(c, "vision_config_dict", "vision_config")


def _of_whole(c: ModelConfig, *keys: str) -> ModelConfig:
    if (c.model_type or "").endswith("_model"):  # a tower's own config, which has no sections
        return c
    return c.section(*keys) if c.has(*keys) or c.model_type == "clip" else c


def _hidden(c: ModelConfig, default: int) -> Dim:
    return c.dim("hidden_size", default=default)


def text_model(config: ModelConfig) -> Module:
    c = text_section(config)
    h = _hidden(c, 512)
    return Module(
        "CLIPTextModel",
        embeddings=text_embeddings("CLIP", c, h),
        encoder=clip_layers("CLIP", c, h, inner=2048, act="quick_gelu"),
        final_layer_norm=LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-5)),
        part="text",
    )


def vision_model(config: ModelConfig) -> Module:
    c = vision_section(config)
    h = _hidden(c, 768)
    layers = clip_layers("CLIP", c, h, inner=3072, act="quick_gelu")
    return clip_tower("CLIPVisionModel", c, clip_embeddings("CLIPVision", c, h, 32), layers)


def _projection(c: ModelConfig, hidden: int) -> Module:
    width = c.dim("projection_dim", default=512)
    return Linear(hidden, width, bias=False, component=Component.PROJECTOR)


def _text_projection(c: ModelConfig) -> Module:
    return _projection(c, _hidden(text_section(c), 512))


def _visual_projection(c: ModelConfig) -> Module:
    return _projection(c, _hidden(vision_section(c), 768))


_BOTH: dict[str, Part] = {
    "logit_scale": lambda _: Weight(kind="scale"),
    "text_model": text_model,
    "vision_model": vision_model,
    "visual_projection": _visual_projection,
    "text_projection": _text_projection,
}
_CLASSIFIER: dict[str, Part] = {
    "vision_model": vision_model,
    "classifier": lambda c: labels_classifier(c, _hidden(vision_section(c), 768)),
}


def safety_checker(c: ModelConfig) -> Module:
    """Part of every Stable Diffusion 1: an image's likeness to 17 concepts and 3 special ones.

    Source: diffusers/pipelines/stable_diffusion/safety_checker.py; its files are all from before
    transformers 5, and the tower has its prefix twice."""
    width, tower = c.dim("projection_dim", default=512), vision_model(c)
    tower.class_name = "CLIPVisionTransformer"
    return Module(
        "StableDiffusionSafetyChecker",
        vision_model=Module("CLIPVisionModel", vision_model=tower),
        visual_projection=_visual_projection(c),
        concept_embeds=Weight(17, width, component=Component.EMBEDDING),
        special_care_embeds=Weight(3, width, component=Component.EMBEDDING),
        concept_embeds_weights=Weight(17, kind="scale"),
        special_care_embeds_weights=Weight(3, kind="scale"),
        part="vision",
    )


register(
    "clip",
    {
        **composed({"CLIPModel": _BOTH}),
        **composed({"CLIPForImageClassification": _CLASSIFIER}, part="vision"),
        "StableDiffusionSafetyChecker": safety_checker,
    },
    category="vision",
)
_TEXT: dict[str, Part] = {
    "text_model": text_model,
    "text_projection": lambda c: _text_projection(text_section(c)),
}
_VISION: dict[str, Part] = {
    "vision_model": vision_model,
    "visual_projection": lambda c: _visual_projection(vision_section(c)),
}
register(
    "clip_text_model",
    {"CLIPTextModel": text_model, **composed({"CLIPTextModelWithProjection": _TEXT}, part="text")},
    base_prefix="text_model",
    category="encoder",
)
register(
    "clip_vision_model",
    {
        "CLIPVisionModel": vision_model,
        **composed({"CLIPVisionModelWithProjection": _VISION}, part="vision"),
    },
    base_prefix="vision_model",
    category="vision",
)
