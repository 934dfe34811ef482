"""Qianfan-OCR (Baidu 2026). Source of shapes: transformers/models/qianfan_ocr. InternVL with Qwen3.
Files have the names of InternVL's own code; of the whole model a save also renames the text model's
layers, which released files do not."""

from ..core.config import ModelConfig
from ..layers.composing import renamed, respelled
from ..layers.multimodal import Decoder, Joined, decoder, language_model
from ..trees.catalog import register, register_part
from ..trees.modules import Module, each_module
from . import internvl

_JOINED = Joined("QianfanOCR", "qianfan_ocr_vision", "qwen3")


def _vision_model(c: ModelConfig) -> Module:
    """As in memory: InternVL's layers without the module around them."""
    tower = internvl.tower(c, attention_bias=c.flag("attention_bias", default=True))
    parts = {name: tower.children.get(name) for name in ("embeddings", "layernorm")}
    layers = tower.inside("encoder", "layer")
    found = Module("QianfanOCRVisionModel", {**parts, "layers": layers}, part="vision")
    return renamed(found, "InternVL", "QianfanOCR")


def _nested(model: Module) -> Module:
    """Layers within a module of their own."""
    found = respelled(model, {"layers": "encoder.layers"})
    found.inside("encoder").class_name = "ModuleList"
    return found


def _parts(c: ModelConfig) -> tuple[Module, Module, Decoder]:
    """Tower, projector and decoder. As in whole files: q, k and v in one matrix, norms of q and k
    where they are in memory."""
    text, vision = decoder(c, "qwen3"), c.section("vision_config")
    tower = internvl.as_released(_vision_model(vision))
    for block in each_module(tower):
        attention = block.children.get("attn")
        if isinstance(attention, Module):
            norms = {name: attention.children.pop(name, None) for name in ("q_norm", "k_norm")}
            block.children["attention"] = Module("Norms", norms)
    width = vision.dim("hidden_size", default=1024)
    _nested(text.base)
    return _nested(tower), internvl.projector(_JOINED, c, width, text.hidden), text


def _model(c: ModelConfig) -> Module:
    tower, joining, text = _parts(c)
    return Module(
        "QianfanOCRModel",
        vision_tower=tower,
        multi_modal_projector=joining,
        language_model=text.base,
    )


def _generation(c: ModelConfig) -> Module:
    tower, joining, text = _parts(c)
    numbered = {"layer_norm": "0", "linear_1": "1", "act": "2", "linear_2": "3"}
    tied = c.flag("tie_word_embeddings", default=False)
    return Module(
        "QianfanOCRForConditionalGeneration",
        vision_model=tower,
        mlp1=respelled(joining, numbered),
        language_model=language_model(text, head=True, tied=tied),
    )


_CLASSES = {"QianfanOCRForConditionalGeneration": _generation, "QianfanOCRModel": _model}
_ALIASES = {"language_model.model.layers.": "language_model.model.encoder.layers."}
register_part("qianfan_ocr_vision", "QianfanOCRVisionModel", _vision_model, "vision")
register("qianfan_ocr", _CLASSES, aliases=_ALIASES, category="multimodal")
