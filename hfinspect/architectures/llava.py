"""LLaVA 1.5 (Liu et al. 2023; transformers/models/llava). A vision tower, two linear layers, a
decoder. File names and their other spellings: multimodal.py."""

from ..layers.multimodal import Joined, TextModel
from ..trees import Component, Dim, ModelConfig, Module, Parameter, Weight, config_defaults

#: What LlavaConfig makes of an absent vision_config: CLIP-L/14 at 336 pixels.
CLIP_L = config_defaults("llava")

LLAVA = Joined(
    "Llava", "clip_vision_model", "llama", vision_defaults=CLIP_L, tied=False, text_ties=True
).register("llava")


def newline(_c: ModelConfig, _width: Dim, text: TextModel) -> dict[str, Module | Parameter | None]:
    """LLaVA-NeXT's learned end of an image's row."""
    return {"image_newline": Weight(text.hidden, component=Component.EMBEDDING)}
