"""Cohere Compass: Command R7B's decoder and Qwen3-VL's vision tower. Source of shapes:
transformers/models/cohere_compass/modeling_cohere_compass.py."""

from functools import partial

from ..layers.decoders import grouped
from ..layers.heads import register_tower
from ..layers.multimodal import register_worded, seeing
from ..layers.windows import windows
from ..trees.catalog import register_part
from .cohere import COHERE
from .qwen3_vl import vision_model

_NAME = "CohereCompass"
_TEXT = COHERE.like(_NAME, attention=grouped, windows=lambda c: windows(c, 4096, lambda *_: True))
_model = partial(_TEXT.named, f"{_NAME}TextModel")
_tower = partial(vision_model, _NAME)
register_tower("cohere_compass_text", _NAME, _model, tied=True, labels=_TEXT.width)
register_worded("cohere_compass", _NAME, seeing(_tower, _model), tied=False)
register_part("cohere_compass_vision", f"{_NAME}VisionModel", _tower, "vision")
