"""Emu3 (BAAI 2024): text and images as one sequence of codes. Source: transformers/models/emu3.
Files keep the text model as a causal LM of its own, next to the image codec."""

from functools import partial

from ..trees import ModelConfig, Module, register
from .emu3_text_model import EMU3
from .emu3_text_model import model as text_model
from .emu3_vqgan import model as codec


def _build(name: str, c: ModelConfig, *, headed: bool) -> Module:
    text = c.section("text_config")
    to = "text_model.model.embed_tokens.weight" if c.tied(default=False) else None
    head = EMU3.words(text, to) if headed else None
    words = Module("Emu3ForCausalLM", model=text_model(text), lm_head=head)
    return Module(name, text_model=words, vqmodel=codec(c.section("vq_config")))


_HEADED = {"Emu3ForConditionalGeneration": True, "Emu3Model": False}
_CLASSES = {name: partial(_build, name, headed=headed) for name, headed in _HEADED.items()}
_MEMORY = {
    "model.text_model.": "text_model.model.",
    "model.vqmodel.": "vqmodel.",
    "lm_head.": "text_model.lm_head.",
}
register("emu3", _CLASSES, aliases=_MEMORY, category="multimodal")
