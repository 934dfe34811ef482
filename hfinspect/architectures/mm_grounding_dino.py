"""MM Grounding DINO (Zhao et al. 2024): Grounding DINO whose labels have a learned offset.
Source: transformers/models/mm_grounding_dino/modeling_mm_grounding_dino.py."""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..trees.catalog import register
from ..trees.modules import Module, ModuleList, Weight
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
    tied = c.tied(default=True)
    shared = tied and c.flag("decoder_cls_embed_share", default=True)
    count = int(c.count("decoder_layers", default=6))
    root = renamed(grounding_dino.object_detection(c, proposes=True), "GroundingDino", _NAME)
    base = root.inside("model")
    base.children["encoder_output_class_embed"] = _labels()
    decoder = base.inside("decoder")
    kept = [f"class_embed.{0 if shared else i}" for i in range(count)]
    decoder.children["class_embed"] = ModuleList(_labels(name if tied else None) for name in kept)
    root.children["class_embed"] = ModuleList(
        _labels(kept[i] if shared and i else None) for i in range(count)
    )
    return root


register(
    "mm-grounding-dino",
    {f"{_NAME}ForObjectDetection": object_detection, f"{_NAME}Model": model},
    base_prefix="model",
    category="multimodal",
)
