"""InstructBLIP (Dai et al. 2023). Source: transformers/models/instructblip, instructblipvideo.
BLIP-2 whose Q-Former reads the instruction as well (blip_2.py)."""

from functools import partial

from ..layers.composing import renamed_classes
from ..layers.multimodal import any_model
from ..trees.catalog import Builder, register, register_part
from . import blip_2

_speaking = any_model("text_config", "opt", "text")
(_whole, _model) = blip_2.WHOLE
_CLASSES: dict[str, Builder] = {
    _whole: partial(blip_2.joined, _whole, blip_2.language_model, instructed=True),
    _model: partial(blip_2.joined, _model, _speaking, instructed=True),
    "Blip2VisionModel": blip_2.vision_model,
    "Blip2QFormerModel": partial(blip_2.qformer, instructed=True),
}
for _name, _type in (("InstructBlip", "instructblip"), ("InstructBlipVideo", "instructblipvideo")):
    _own = renamed_classes(_CLASSES, "Blip2", _name)
    _tower = f"{_name}VisionModel"
    _class, _qformer = _own.popitem()  # of the section's type alone
    register(_type, _own, base=f"{_name}Model", category="multimodal")
    register_part(f"{_type}_vision_model", _tower, _own[_tower], "vision")
    register_part(f"{_type}_qformer", _class, _qformer, "multimodal")
