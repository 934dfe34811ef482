"""CLIP (Radford et al. 2021). Source of shapes: transformers/models/clip/modeling_clip.py.
Two towers of one layer, each with its projection into the shared space, and a temperature.
A tower saved alone lost its prefix (``text_model.``, ``vision_model.``) in transformers 5; files of
before, text encoders of diffusion pipelines among them, have it."""

from functools import partial

from ..layers import vision
from ..layers.composing import FormPart, composed, composed_of
from ..trees import Component, Dim, LayerNorm, Linear, ModelConfig, Module, Weight, register


def _section(c: ModelConfig, side: str) -> ModelConfig:
    """A tower's config, that of a whole one as well ({side}_config_dict overrides, as there)."""
    keys = f"{side}_config_dict", f"{side}_config"
    alone = (c.model_type or "").endswith("_model")  # a tower's own config, which has no sections
    return c.section(*keys) if not alone and (c.has(*keys) or c.model_type == "clip") else c


def _hidden(c: ModelConfig, side: str) -> Dim:
    return _section(c, side).dim("hidden_size", default=512 if side == "text" else 768)


def text_model(config: ModelConfig) -> Module:
    c = _section(config, "text")
    h = _hidden(config, "text")
    layers = vision.clip_layers("CLIP", c, h, inner=2048, act="quick_gelu", heads=8)
    norm = LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-5))
    parts = {"embeddings": vision.text_embeddings("CLIP", c, h), "encoder": layers}
    return Module("CLIPTextModel", parts, final_layer_norm=norm, part="text")


def vision_model(config: ModelConfig) -> Module:
    c = _section(config, "vision")
    h = _hidden(config, "vision")
    embeddings = vision.clip_embeddings("CLIPVision", c, h, 32)
    layers = vision.clip_layers("CLIP", c, h, inner=3072, act="quick_gelu")
    return vision.clip_tower("CLIPVisionModel", c, embeddings, layers)


def _projection(side: str, c: ModelConfig, *, alone: bool = False) -> Module:
    """``alone``: the width is one of the tower's keys."""
    width = (_section(c, side) if alone else c).dim("projection_dim", default=512)
    return Linear(_hidden(c, side), width, bias=False, component=Component.PROJECTOR)


def safety_checker(c: ModelConfig) -> Module:
    """Part of every Stable Diffusion 1: an image's likeness to 17 concepts and 3 special ones.

    Source: diffusers/pipelines/stable_diffusion/safety_checker.py; its files are all from before
    transformers 5, and the tower has its prefix twice."""
    tower = Module("CLIPVisionModel", vision_model=vision_model(c).called("CLIPVisionTransformer"))
    width = c.dim("projection_dim", default=512)
    to = Component.EMBEDDING
    concepts = {"concept_embeds": 17, "special_care_embeds": 3}
    tables = {at: Weight(count, width, component=to) for at, count in concepts.items()}
    weights = {f"{at}_weights": Weight(count, kind="scale") for at, count in concepts.items()}
    parts = {"vision_model": tower, "visual_projection": _projection("vision", c)}
    return Module("StableDiffusionSafetyChecker", {**parts, **tables, **weights}, part="vision")


_PARTS: dict[str, FormPart] = {
    "logit_scale": lambda _: Weight(kind="scale"),
    "text_model": text_model,
    "vision_model": vision_model,
    "visual_projection": partial(_projection, "vision"),
    "text_projection": partial(_projection, "text"),
    "classifier": lambda c: vision.labels_classifier(c, _hidden(c, "vision")),
}
_BOTH = ("logit_scale", "text_model", "vision_model", "visual_projection", "text_projection")
_LABELLED = {"CLIPForImageClassification": ("vision_model", "classifier")}
_CLASSES = {
    **composed_of(_PARTS, {"CLIPModel": _BOTH}),
    **composed_of(_PARTS, _LABELLED, part="vision"),
    "StableDiffusionSafetyChecker": safety_checker,
}
register("clip", _CLASSES, category="vision")
_SIDES = ("text", text_model, "text", "encoder"), ("vision", vision_model, "visual", "vision")
for side, model, word, category in _SIDES:
    projection: FormPart = partial(_projection, side, alone=True)
    parts = {f"{side}_model": model, f"{word}_projection": projection}
    name = f"CLIP{side.capitalize()}Model"
    classes = {name: model, **composed({f"{name}WithProjection": parts}, part=side)}
    register(f"clip_{side}_model", classes, base_prefix=f"{side}_model", category=category)
