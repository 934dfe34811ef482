"""MM Grounding DINO (Zhao et al. 2024): Grounding DINO whose labels have a learned offset.
Source: transformers/models/mm_grounding_dino/modeling_mm_grounding_dino.py."""

from functools import partial

from ..layers.composing import changed, renamed_classes
from ..trees import Component, ModelConfig, Module, Weight, register
from . import grounding_dino

_NAME = "MMGroundingDino"


def _labels(tied_to: str | None = None) -> Module:
    """Queries against words: one offset."""
    offset = Weight(tied_to=tied_to and f"{tied_to}.bias")
    return Module(f"{_NAME}ContrastiveEmbedding", bias=offset, component=Component.HEAD)


def _own(c: ModelConfig, root: Module) -> None:
    base = root.inside("model") if "model" in root.children else root
    base.children["encoder_output_class_embed"] = _labels()
    if base is not root:
        root.children["class_embed"] = grounding_dino.layer_heads(c, base, "class", "cls", _labels)


_CLASSES = {
    "GroundingDinoForObjectDetection": partial(grounding_dino.object_detection, proposes=True),
    "GroundingDinoModel": partial(grounding_dino.model, proposes=True),
}
_RENAMED = changed(renamed_classes(_CLASSES, "GroundingDino", _NAME), _own)
register("mm-grounding-dino", _RENAMED, base_prefix="model", category="multimodal")
