"""Mistral Small 3.1 and later with vision. Source: transformers/models/mistral3.

Pixtral's tower, a merger of 2x2 patches and two linear layers, Mistral's decoder. File names and
their other spellings: multimodal.py.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers.multimodal import (
    LLAVA_ALIASES,
    decoder,
    language_model,
    tower,
    tower_width,
    two_layer_projector,
)
from ..trees.catalog import register
from ..trees.modules import Linear, Module, RMSNorm

#: What Mistral3Config makes of absent sections: Mistral Small 3.1.
VISION = {
    "intermediate_size": 4096, "hidden_size": 1024, "patch_size": 14, "image_size": 1540,
    "num_hidden_layers": 24, "num_attention_heads": 16,
}  # fmt: skip
TEXT = {
    "head_dim": 128, "hidden_size": 5120, "intermediate_size": 32768, "num_attention_heads": 32,
    "num_hidden_layers": 40, "num_key_value_heads": 8, "vocab_size": 131072,
}  # fmt: skip


def parts(c: ModelConfig, *, head: bool) -> dict[str, Module]:
    text = decoder(c, "mistral", defaults=TEXT)
    seen = tower(c, "vision_config", "pixtral", "vision", VISION)
    width, side = tower_width(seen), c.dim("spatial_merge_size", default=2)
    bias = c.flag("multimodal_projector_bias", default=False)
    projector = two_layer_projector("Mistral3MultiModalProjector", c, width, text.hidden, bias=bias)
    projector.children = {
        "norm": RMSNorm(width, class_name="Mistral3RMSNorm"),
        "patch_merger": Module(
            "Mistral3PatchMerger", merging_layer=Linear(width * side * side, width, bias=False)
        ),
        **projector.children,
    }
    return {
        "vision_tower": seen,
        "multi_modal_projector": projector,
        "language_model": language_model(text, head=head, tied=c.tied(default=True)),
    }


def generation(c: ModelConfig) -> Module:
    return Module("Mistral3ForConditionalGeneration", dict(parts(c, head=True)))


def base(c: ModelConfig) -> Module:
    return Module("Mistral3Model", dict(parts(c, head=False)))


register(
    "mistral3",
    {"Mistral3ForConditionalGeneration": generation, "Mistral3Model": base},
    base="Mistral3Model",
    aliases=LLAVA_ALIASES,
    category="multimodal",
)
