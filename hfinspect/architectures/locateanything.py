"""LocateAnything-3B (NVIDIA 2026). No class in transformers. Source of shapes:
modeling_locateanything.py in nvidia/LocateAnything-3B; SGLang's locate_anything.py, which gives the
projector's sizes.
"""

from ..core.config import ModelConfig
from ..trees.catalog import auto_class, register_part
from ..trees.modules import Module
from .internvl_chat import projector
from .kimi_vl import merged_width, vision_model

_NAME = "LocateAnythingForConditionalGeneration"


def conditional_generation(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), c.section("text_config")
    return Module(
        _NAME,
        vision_model=vision_model(vision),
        language_model=auto_class(text, "ForCausalLM", default_type="qwen2"),
        mlp1=projector(merged_width(vision), text.dim("hidden_size", default=4096)),
    )


_SOURCE = "modeling_locateanything.py of nvidia/LocateAnything-3B; SGLang's locate_anything.py"
register_part("locateanything", _NAME, conditional_generation, source=_SOURCE)
