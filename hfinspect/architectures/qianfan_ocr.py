"""Qianfan-OCR (Baidu 2026; transformers/models/qianfan_ocr): InternVL with Qwen3, under the names
of InternVL's own code; a save of the whole renames the text model's layers as well."""

from functools import partial

from ..layers.composing import renamed, respelled
from ..layers.multimodal import Joined, decoder, language_model
from ..trees import ModelConfig, Module, each_module, register_pair, register_part
from . import internvl

_JOINED = Joined("QianfanOCR", "qianfan_ocr_vision", "qwen3")


def _vision_model(c: ModelConfig) -> Module:
    """As in memory: InternVL's layers without the module around them."""
    tower = internvl.tower(c, attention_bias=c.flag("attention_bias", default=True))
    parts = {name: tower.children.get(name) for name in ("embeddings", "layernorm")}
    layers = tower.inside("encoder", "layer")
    root = Module("QianfanOCRVisionModel", {**parts, "layers": layers}, part="vision")
    return renamed(root, "InternVL", "QianfanOCR")


def _model(c: ModelConfig, *, generates: bool = False) -> Module:
    """As in whole files: q, k and v of the tower in one matrix, norms of q and k where they are in
    memory, layers within a module of their own."""
    text = decoder(c, "qwen3")
    vision = c.section("vision_config")
    tower = internvl.as_released(_vision_model(vision))
    for block in each_module(tower):
        attention = block.children.get("attn")
        if isinstance(attention, Module):
            norms = {name: attention.children.pop(name, None) for name in ("q_norm", "k_norm")}
            block.children["attention"] = Module("Norms", norms)
    for part in (tower, text.base):
        respelled(part, {"layers": "encoder.layers"}, "ModuleList")
    width = vision.dim("hidden_size", default=1024)
    joining = internvl.projector(_JOINED, c, width, text.hidden)
    if not generates:
        outer = Module("QianfanOCRModel", vision_tower=tower, multi_modal_projector=joining)
        return outer.adding(language_model=text.base)
    tied = c.flag("tie_word_embeddings", default=False)
    return Module(
        "QianfanOCRForConditionalGeneration",
        vision_model=tower,
        mlp1=respelled(joining, {"layer_norm": "0", "linear_1": "1", "act": "2", "linear_2": "3"}),
        language_model=language_model(text, head=True, tied=tied),
    )


_ALIASES = {"language_model.model.layers.": "language_model.model.encoder.layers."}
register_part("qianfan_ocr_vision", "QianfanOCRVisionModel", _vision_model, "vision")
register_pair(
    "qianfan_ocr",
    "QianfanOCR",
    partial(_model, generates=True),
    _model,
    "multimodal",
    prefix="",
    aliases=_ALIASES,
)
