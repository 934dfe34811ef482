"""Qianfan-OCR (Baidu 2026). Source of shapes: transformers/models/qianfan_ocr.

InternVL with Qwen3. Files have the names of InternVL's own code; of the whole model a save also
renames the text model's layers, which released files do not.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.multimodal import Joined, decoder, lm_head
from ..trees.catalog import register, register_part
from ..trees.modules import Module, each_module
from . import internvl

_JOINED = Joined("QianfanOCR", "qianfan_ocr_vision", "qwen3")


def vision_model(c: ModelConfig) -> Module:
    """As in memory: InternVL's layers without the module around them."""
    tower = internvl.tower(c, attention_bias=c.flag("attention_bias", default=True))
    parts = {name: tower.children.get(name) for name in ("embeddings", "layernorm")}
    layers = tower.inside("encoder", "layer")
    found = Module("QianfanOCRVisionModel", {**parts, "layers": layers}, part="vision")
    return renamed(found, "InternVL", "QianfanOCR")


def _tower(c: ModelConfig) -> Module:
    """As in whole files: q, k and v in one matrix, norms of q and k where they are in memory."""
    tower = internvl.as_released(vision_model(c))
    for block in each_module(tower):
        attention = block.children.get("attn")
        if isinstance(attention, Module):
            norms = {name: attention.children.pop(name, None) for name in ("q_norm", "k_norm")}
            block.children["attention"] = Module("Norms", norms)
    tower.children["encoder"] = Module("ModuleList", layers=tower.children.pop("layers"))
    return tower


def _text(c: ModelConfig) -> Module:
    text = decoder(c, "qwen3").base
    inner = Module("ModuleList", layers=text["layers"])
    text.children = {
        ("encoder" if name == "layers" else name): (inner if name == "layers" else part)
        for name, part in text.children.items()
    }
    return text


def model(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    width, hidden = vision.dim("hidden_size", default=1024), decoder(c, "qwen3").hidden
    return Module(
        "QianfanOCRModel",
        vision_tower=_tower(vision),
        multi_modal_projector=internvl.projector(_JOINED, c, width, hidden),
        language_model=_text(c),
    )


def generation(c: ModelConfig) -> Module:
    text = decoder(c, "qwen3")
    parts = model(c).children
    joined = parts["multi_modal_projector"]
    assert isinstance(joined, Module)
    numbered = {"layer_norm": "0", "linear_1": "1", "act": "2", "linear_2": "3"}
    joined.children = {numbered[name]: part for name, part in joined.children.items()}
    tied = c.flag("tie_word_embeddings", default=False)
    return Module(
        "QianfanOCRForConditionalGeneration",
        vision_model=parts["vision_tower"],
        mlp1=joined,
        language_model=Module(
            text.class_name,
            model=parts["language_model"],
            lm_head=lm_head(text, "language_model.model.embed_tokens.weight" if tied else None),
            part="text",
        ),
    )


register_part("qianfan_ocr_vision", "QianfanOCRVisionModel", vision_model, "vision")
register(
    "qianfan_ocr",
    {"QianfanOCRForConditionalGeneration": generation, "QianfanOCRModel": model},
    aliases={"language_model.model.layers.": "language_model.model.encoder.layers."},
    category="multimodal",
)
