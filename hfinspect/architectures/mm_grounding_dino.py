"""MM Grounding DINO (Zhao et al. 2024): Grounding DINO whose labels have a learned offset.
Source: transformers/models/mm_grounding_dino/modeling_mm_grounding_dino.py."""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..trees.catalog import register
from ..trees.modules import Module, Weight
from . import grounding_dino

_NAME = "MMGroundingDino"


def _labels(tied_to: str | None = None) -> Module:
    """Queries against words: one offset."""
    return Module(
        f"{_NAME}ContrastiveEmbedding",
        bias=Weight(tied_to=tied_to and f"{tied_to}.bias"),
        component=Component.HEAD,
    )


def model(c: ModelConfig) -> Module:
    root = renamed(grounding_dino.model(c, proposes=True), "GroundingDino", _NAME)
    root.children["encoder_output_class_embed"] = _labels()
    return root


def object_detection(c: ModelConfig) -> Module:
    root = renamed(grounding_dino.object_detection(c, proposes=True), "GroundingDino", _NAME)
    base = root.inside("model")
    base.children["encoder_output_class_embed"] = _labels()
    root.children["class_embed"] = grounding_dino.held(c, base, "class", "cls", _labels)
    return root


register(
    "mm-grounding-dino",
    {f"{_NAME}ForObjectDetection": object_detection, f"{_NAME}Model": model},
    base_prefix="model",
    category="multimodal",
)
