"""PaliGemma (Beyer et al. 2024). Source: transformers/models/paligemma/modeling_paligemma.py.

A SigLIP tower, one linear layer, and Gemma, whose embedding is the head as well.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.multimodal import LLAVA_ALIASES, decoder, language_model, tower, tower_width
from ..trees.catalog import register
from ..trees.modules import Linear, Module

#: What PaliGemmaConfig makes of absent sections: the 3B model.
VISION = {
    "intermediate_size": 4096, "hidden_size": 1152, "patch_size": 14, "image_size": 224,
    "num_hidden_layers": 27, "num_attention_heads": 16, "vision_use_head": False,
}  # fmt: skip
TEXT = {
    "hidden_size": 2048, "num_hidden_layers": 18, "intermediate_size": 16384,
    "num_attention_heads": 8, "num_key_value_heads": 1, "vocab_size": 257152,
}  # fmt: skip


def parts(c: ModelConfig, *, head: bool) -> dict[str, Module]:
    text = decoder(c, "gemma", defaults=TEXT)
    seen = tower(c, "vision_config", "siglip_vision_model", "vision", VISION)
    # The key at the top counts, also against a projection_dim in vision_config.
    width = c.dim("projection_dim", default=2048)
    return {
        "vision_tower": seen,
        "multi_modal_projector": Module(
            "PaliGemmaMultiModalProjector",
            linear=Linear(tower_width(seen), width),
            component=Component.PROJECTOR,
            part="projector",
        ),
        "language_model": language_model(text, head=head, tied=c.tied(default=True)),
    }


def generation(c: ModelConfig) -> Module:
    return Module("PaliGemmaForConditionalGeneration", dict(parts(c, head=True)))


def base(c: ModelConfig) -> Module:
    return Module("PaliGemmaModel", dict(parts(c, head=False)))


register(
    "paligemma",
    {"PaliGemmaForConditionalGeneration": generation, "PaliGemmaModel": base},
    base="PaliGemmaModel",
    aliases=LLAVA_ALIASES,
    category="multimodal",
)
