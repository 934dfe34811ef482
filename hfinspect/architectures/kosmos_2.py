"""Kosmos-2 (Peng et al. 2023). Source: transformers/models/kosmos2/modeling_kosmos2.py.

CLIP's vision tower, 64 learned queries that read it, and a decoder with a norm inside attention and
MLP (Magneto; towers and decoder are traces). Text positions are sinusoids, without tensors.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import without_static_cache
from ..layers.multimodal import text_width, tied_section
from ..layers.vision import clip_attention
from ..trees.catalog import Builder, builder, register
from ..trees.modules import Linear, Module, Weight


def projection(c: ModelConfig, d: Dim) -> Module:
    """Learned queries attend to the projected image."""
    vision = c.section("vision_config")
    attention = clip_attention("KosmosTextAttention", d)
    attention.component = Component.PROJECTOR
    return Module(
        "Kosmos2ImageToTextProjection",
        latent_query=Weight(c.dim("latent_query_num", default=64), d),
        dense=Linear(vision.dim("hidden_size", default=1024), d),
        x_attn=attention,
        component=Component.PROJECTOR,
        part="projector",
    )


def _with(name: str, text: str) -> Builder:
    def build(c: ModelConfig) -> Module:
        words = builder(text)(tied_section(c))
        words.scope = True
        return Module(
            name,
            text_model=words,
            vision_model=builder("Kosmos2VisionModel")(c.section("vision_config")),
            image_to_text_projection=projection(c, text_width(words)),
        )

    return build


_TEXTS = {
    "Kosmos2ForConditionalGeneration": "Kosmos2TextForCausalLM",
    "Kosmos2Model": "Kosmos2TextModel",
}
_CLASSES = {name: _with(name, text) for name, text in _TEXTS.items()}
register("kosmos-2", without_static_cache(_CLASSES), category="multimodal")
