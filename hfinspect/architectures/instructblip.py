"""InstructBLIP (Dai et al. 2023). Source: transformers/models/instructblip, instructblipvideo.

BLIP-2 whose Q-Former reads the instruction as well (blip_2.py).
"""

from functools import partial

from ..core.config import ModelConfig
from ..layers.composing import renamed_classes
from ..trees.catalog import Builder, auto_model, register, register_part
from ..trees.modules import Module
from . import blip_2


def generation(c: ModelConfig) -> Module:
    language = blip_2.language_model(c)
    return blip_2.joined("Blip2ForConditionalGeneration", c, language, instructed=True)


def model(c: ModelConfig) -> Module:
    language = auto_model(c.section("text_config"), default_type="opt", part="text")
    return blip_2.joined("Blip2Model", c, language, instructed=True)


_CLASSES: dict[str, Builder] = {
    "Blip2ForConditionalGeneration": generation,
    "Blip2Model": model,
    "Blip2VisionModel": blip_2.vision_model,
}
_QFORMER = {"Blip2QFormerModel": partial(blip_2.only_qformer, instructed=True)}

for _name, _type in (("InstructBlip", "instructblip"), ("InstructBlipVideo", "instructblipvideo")):
    _own, _tower = renamed_classes(_CLASSES, "Blip2", _name), f"{_name}VisionModel"
    register(_type, _own, base=f"{_name}Model", category="multimodal")
    register_part(f"{_type}_vision_model", _tower, _own[_tower], "vision")
    for _class, _build in renamed_classes(_QFORMER, "Blip2", _name).items():
        register_part(f"{_type}_qformer", _class, _build, "multimodal")
