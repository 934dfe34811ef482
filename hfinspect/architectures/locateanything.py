"""LocateAnything-3B (NVIDIA 2026). No class in transformers. Source of shapes:
modeling_locateanything.py in nvidia/LocateAnything-3B; SGLang's locate_anything.py reads the same
names and gives the projector's sizes.

MoonViT, InternVL's projector ``mlp1`` over 2 by 2 merged patches, and Qwen2.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.vision import pair
from ..trees.catalog import auto_class, register
from ..trees.modules import Activation, LayerNorm, Linear, Module, Sequential
from .kimi_vl import vision_model


def conditional_generation(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), c.section("text_config")
    height, across = pair(vision, "merge_kernel_size", default=2)
    merged = vision.dim("hidden_size", default=1152) * (height * across)
    width = text.dim("hidden_size", default=4096)
    return Module(
        "LocateAnythingForConditionalGeneration",
        vision_model=vision_model(vision),
        language_model=auto_class(text, "ForCausalLM", default_type="qwen2"),
        mlp1=Sequential(
            LayerNorm(merged),
            Linear(merged, width),
            Activation("GELU", "approximate='none'"),
            Linear(width, width),
            component=Component.PROJECTOR,
            part="projector",
        ),
    )


register(
    "locateanything",
    {"LocateAnythingForConditionalGeneration": conditional_generation},
    category="multimodal",
    source="modeling_locateanything.py of nvidia/LocateAnything-3B; SGLang's locate_anything.py",
)
