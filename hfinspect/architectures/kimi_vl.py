"""Kimi-VL (Moonshot AI 2025) and its tower MoonViT. No classes in transformers. Source of shapes:
modeling_kimi_vl.py in moonshotai/Kimi-VL-A3B-Instruct, modeling_moonvit.py in
moonshotai/MoonViT-SO-400M; SGLang's kimi_vl.py reads the same names.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed
from ..layers.multimodal import projector
from ..layers.vision import pair
from ..trees.catalog import auto_class, register_part
from ..trees.modules import Activation, LayerNorm, Linear, Module
from .kimi_k25 import hub_vision

_NAME = "KimiVLForConditionalGeneration"


def vision_model(c: ModelConfig) -> Module:
    """MoonViT in one frame: the tensors of K2.5's tower."""
    return renamed(renamed(hub_vision(c), "MoonViT3d", "MoonVit"), "Kimi_K25Vision", "MoonVision")


def merged_width(vision: ModelConfig) -> Dim:
    """A rectangle of patches side by side."""
    height, across = pair(vision, "merge_kernel_size", default=2)
    return vision.dim("hidden_size", default=1152) * (height * across)


def conditional_generation(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), c.section("text_config")
    merged = merged_width(vision)
    return Module(
        _NAME,
        vision_tower=vision_model(vision),
        multi_modal_projector=projector(
            "KimiVLMultiModalProjector",
            pre_norm=LayerNorm(vision.dim("hidden_size", default=1152), eps=1e-5),
            linear_1=Linear(merged, merged),
            act=Activation("GELU"),
            linear_2=Linear(merged, text.dim("hidden_size", default=7168)),
        ),
        language_model=auto_class(text, "ForCausalLM", default_type="deepseek_v3"),
    )


_SOURCE = "modeling_kimi_vl.py of moonshotai/Kimi-VL-A3B-Instruct, modeling_moonvit.py of MoonViT"
register_part("kimi_vl", _NAME, conditional_generation, source=_SOURCE)
register_part("moonvit", "MoonVitPretrainedModel", vision_model, "vision", _SOURCE)
