"""Kimi-VL (Moonshot AI 2025) and its tower MoonViT, that of Kimi K2.5 in one frame. SGLang's
kimi_vl.py reads the same names."""

from ..layers.composing import renamed
from ..layers.multimodal import any_causal, two_linears, within
from ..trees import Activation, LayerNorm, ModelConfig, Module, register_part
from .kimi_k25 import hub_vision, merged_width


def vision_model(c: ModelConfig) -> Module:
    return renamed(renamed(hub_vision(c), "MoonViT3d", "MoonVit"), "Kimi_K25Vision", "MoonVision")


def _projector(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    text = c.section("text_config")
    merged = merged_width(vision)
    out = text.dim("hidden_size", default=7168)
    norm = LayerNorm(vision.dim("hidden_size", default=1152), eps=1e-5)
    name = "KimiVLMultiModalProjector"
    act = Activation("GELU")
    return two_linears(name, c, merged, merged, out, act=act, pre_norm=norm)


_PARTS = {
    "vision_tower": within("vision_config", vision_model),
    "multi_modal_projector": _projector,
    "language_model": any_causal("text_config", "deepseek_v3"),
}
_SOURCE = "modeling_kimi_vl.py of moonshotai/Kimi-VL-A3B-Instruct, modeling_moonvit.py of MoonViT"
register_part("kimi_vl", "KimiVLForConditionalGeneration", _PARTS, source=_SOURCE)
register_part("moonvit", "MoonVitPretrainedModel", vision_model, "vision", _SOURCE)
