"""LocateAnything-3B (NVIDIA 2026). The projector's sizes are those that SGLang gives."""

from ..layers.multimodal import any_causal, within
from ..trees.catalog import register_part
from .internvl_chat import projector
from .kimi_k25 import merged_width
from .kimi_vl import vision_model

register_part(
    "locateanything",
    "LocateAnythingForConditionalGeneration",
    {
        "vision_model": within("vision_config", vision_model),
        "language_model": any_causal("text_config", "qwen2"),
        "mlp1": lambda c: projector(
            merged_width(c.section("vision_config")), c.section("text_config")
        ),
    },
    source="modeling_locateanything.py of nvidia/LocateAnything-3B; SGLang's locate_anything.py",
)
