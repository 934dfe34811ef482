"""LightOnOCR (LightOn 2025): Mistral 3's tower and projector, without what its config may say of
the latter, and Qwen3. Source: transformers/models/lighton_ocr. File names: multimodal.py."""

from ..layers.multimodal import Joined
from ..trees import Activation, Dim, ModelConfig, Module, config_defaults
from .mistral3 import MISTRAL3


def _projector(j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    values = {"spatial_merge_size": int(c.dim("spatial_merge_size", default=2))}
    block = MISTRAL3.projector(j, ModelConfig(values, c.path), width, text)
    return block.adding(act=Activation("GELU"))


# The defaults are what LightOnOcrConfig makes of absent sections.
MISTRAL3.like(
    "LightOnOcr",
    text="qwen3",
    projector=_projector,
    towers=("vision_encoder",),
    project="vision_projection",
    inside=True,
    text_defaults=config_defaults("lighton_ocr"),
).register("lighton_ocr")
