"""Kosmos-2 (Peng et al. 2023). Source: transformers/models/kosmos2/modeling_kosmos2.py.

CLIP's tower, 64 learned queries that read it, and a decoder with a norm inside attention and MLP
(traces).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import without_static_cache
from ..layers.multimodal import projector, text_width, tied_section
from ..layers.vision import clip_attention
from ..trees.catalog import Builder, builder, register
from ..trees.modules import Linear, Module, Weight


def _with(name: str, text: str) -> Builder:
    def build(c: ModelConfig) -> Module:
        words, vision = builder(text)(tied_section(c)), c.section("vision_config")
        d, words.scope = text_width(words), True
        looking = clip_attention("KosmosTextAttention", d)
        looking.component = Component.PROJECTOR
        return Module(
            name,
            text_model=words,
            vision_model=builder("Kosmos2VisionModel")(vision),
            image_to_text_projection=projector(
                "Kosmos2ImageToTextProjection",
                latent_query=Weight(c.dim("latent_query_num", default=64), d),
                dense=Linear(vision.dim("hidden_size", default=1024), d),
                x_attn=looking,
            ),
        )

    return build


_TEXTS = {"ForConditionalGeneration": "Kosmos2TextForCausalLM", "Model": "Kosmos2TextModel"}
_CLASSES = {f"Kosmos2{ending}": _with(f"Kosmos2{ending}", text) for ending, text in _TEXTS.items()}
register("kosmos-2", without_static_cache(_CLASSES), category="multimodal")
