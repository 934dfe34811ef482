"""LLaVA 1.5 (Liu et al. 2023). Source of shapes: transformers/models/llava/modeling_llava.py.

A vision tower, two linear layers, a decoder. File names and their other spellings: multimodal.py.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.multimodal import (
    LLAVA_ALIASES,
    decoder,
    language_model,
    tower,
    tower_width,
    two_layer_projector,
)
from ..trees.catalog import Builder, register
from ..trees.modules import Module, Parameter, Weight

#: What LlavaConfig makes of an absent vision_config: CLIP-L/14 at 336 pixels.
CLIP_L = {
    "intermediate_size": 4096, "hidden_size": 1024, "patch_size": 14, "image_size": 336,
    "num_hidden_layers": 24, "num_attention_heads": 16,
}  # fmt: skip


def register_llava(
    name: str,
    model_type: str,
    *,
    vision: str = "clip_vision_model",
    vision_defaults: dict[str, object] | None = None,
    text: str = "llama",
    newline: bool = False,
    text_ties: bool = True,
) -> None:
    """``newline``: a learned end of an image's row; ``text_ties``: the text section's tying counts
    as well as the key at the top."""
    defaults: dict[str, object] = dict(CLIP_L if vision_defaults is None else vision_defaults)

    def parts(c: ModelConfig, *, head: bool) -> dict[str, Module | Parameter | None]:
        found = decoder(c, text)
        seen = tower(c, "vision_config", vision, "vision", defaults)
        tied = c.tied(default=False) or (text_ties and found.tied)
        bias = c.flag("multimodal_projector_bias", default=True)
        return {
            "image_newline": Weight(found.hidden, component=Component.EMBEDDING)
            if newline
            else None,
            "vision_tower": seen,
            "multi_modal_projector": two_layer_projector(
                f"{name}MultiModalProjector", c, tower_width(seen), found.hidden, bias=bias
            ),
            "language_model": language_model(found, head=head, tied=tied),
        }

    def generation(c: ModelConfig) -> Module:
        return Module(f"{name}ForConditionalGeneration", parts(c, head=True))

    def base(c: ModelConfig) -> Module:
        return Module(f"{name}Model", parts(c, head=False))

    classes: dict[str, Builder] = {
        f"{name}ForConditionalGeneration": generation,
        f"{name}Model": base,
    }
    register(model_type, classes, base=f"{name}Model", aliases=LLAVA_ALIASES, category="multimodal")


register_llava("Llava", "llava")
