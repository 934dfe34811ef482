"""Kimi-VL (Moonshot AI 2025) and its tower MoonViT. No classes in transformers. Source of shapes:
modeling_kimi_vl.py in moonshotai/Kimi-VL-A3B-Instruct, modeling_moonvit.py in
moonshotai/MoonViT-SO-400M; SGLang's kimi_vl.py reads the same names.

DeepSeek-V3's text model, a ViT with a learned grid of positions, and a projector that norms
patches, merges 2 by 2 of them and has two linear layers.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.vision import pair
from ..trees.catalog import auto_class, register
from ..trees.modules import Activation, LayerNorm, Linear, Module
from .kimi_k25 import hub_vision

_SOURCE = "modeling_kimi_vl.py of moonshotai/Kimi-VL-A3B-Instruct, modeling_moonvit.py of MoonViT"


def vision_model(c: ModelConfig) -> Module:
    """MoonViT in one frame: the tensors of K2.5's tower."""
    return renamed(renamed(hub_vision(c), "MoonViT3d", "MoonVit"), "Kimi_K25Vision", "MoonVision")


def projector(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), c.section("text_config")
    width = vision.dim("hidden_size", default=1152)
    height, across = pair(vision, "merge_kernel_size", default=2)
    merged = width * (height * across)
    return Module(
        "KimiVLMultiModalProjector",
        pre_norm=LayerNorm(width, eps=1e-5),
        linear_1=Linear(merged, merged),
        act=Activation("GELU"),
        linear_2=Linear(merged, text.dim("hidden_size", default=7168)),
        component=Component.PROJECTOR,
        part="projector",
    )


def conditional_generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    return Module(
        "KimiVLForConditionalGeneration",
        vision_tower=vision_model(c.section("vision_config")),
        multi_modal_projector=projector(c),
        language_model=auto_class(text, "ForCausalLM", default_type="deepseek_v3"),
    )


register(
    "kimi_vl",
    {"KimiVLForConditionalGeneration": conditional_generation},
    category="multimodal",
    source=_SOURCE,
)
register("moonvit", {"MoonVitPretrainedModel": vision_model}, category="vision", source=_SOURCE)
