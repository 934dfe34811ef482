"""Kosmos-2 (Peng et al. 2023): CLIP's tower, 64 learned queries that read it, and a decoder with a
norm inside attention and MLP (traces). Source: transformers/models/kosmos2/modeling_kosmos2.py."""

from functools import partial

from ..layers.composing import without_static_cache
from ..layers.multimodal import projecting, projector, text_width, tied_section
from ..layers.vision import clip_attention
from ..trees import Linear, ModelConfig, Module, Weight, builder, register


def _build(name: str, text: str, c: ModelConfig) -> Module:
    words = builder(text)(tied_section(c))
    vision = c.section("vision_config")
    d = text_width(words)
    words.scope = True
    return Module(
        name,
        text_model=words,
        vision_model=builder("Kosmos2VisionModel")(vision),
        image_to_text_projection=projector(
            "Kosmos2ImageToTextProjection",
            latent_query=Weight(c.dim("latent_query_num", default=64), d),
            dense=Linear(vision.dim("hidden_size", default=1024), d),
            x_attn=projecting(clip_attention("KosmosTextAttention", d)),
        ),
    )


_TEXTS = {"ForConditionalGeneration": "Kosmos2TextForCausalLM", "Model": "Kosmos2TextModel"}
_CLASSES = {f"Kosmos2{at}": partial(_build, f"Kosmos2{at}", text) for at, text in _TEXTS.items()}
register("kosmos-2", without_static_cache(_CLASSES), category="multimodal")
