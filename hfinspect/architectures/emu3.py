"""Emu3 (BAAI 2024): text and images as one sequence of codes.

Source of shapes: transformers/models/emu3/modeling_emu3.py. Files keep the layout in which the text
model is a causal LM of its own, next to the image codec.
"""

from ..core.config import ModelConfig
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Module
from .emu3_text_model import EMU3
from .emu3_text_model import model as text_model
from .emu3_vqgan import model as codec


def _parts(c: ModelConfig, head: Module | None = None) -> dict[str, Module]:
    text = text_model(c.section("text_config"))
    return {
        "text_model": Module("Emu3ForCausalLM", model=text, lm_head=head),
        "vqmodel": codec(c.section("vq_config")),
    }


def model(c: ModelConfig) -> Module:
    return Module("Emu3Model", dict(_parts(c)))


def conditional_generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    head = to_words(
        EMU3.width(text),
        text.dim("vocab_size", default=184622),
        "text_model.model.embed_tokens.weight" if c.tied(default=False) else None,
    )
    return Module("Emu3ForConditionalGeneration", dict(_parts(c, head)))


register(
    "emu3",
    {"Emu3ForConditionalGeneration": conditional_generation, "Emu3Model": model},
    aliases={
        "model.text_model.": "text_model.model.",
        "model.vqmodel.": "vqmodel.",
        "lm_head.": "text_model.lm_head.",
    },
    category="multimodal",
)
