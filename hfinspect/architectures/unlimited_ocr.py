"""Unlimited-OCR (Baidu 2026). Source of shapes: transformers/models/unlimited_ocr.

SAM's tower with two more convolutions, CLIP's over its output, side by side into one projector;
a decoder with grouped attention and shared experts, which looks at all of the prompt and at a
window of what it generated. Files have the names of DeepSeek-OCR.
"""

from collections.abc import Sequence
from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import layer_types
from ..layers.composing import renamed
from ..layers.decoders import Decoder, grouped, pre_norm
from ..layers.heads import causal_lm
from ..layers.latent_decoders import dense_first
from ..layers.multimodal import projector
from ..layers.windows import windows
from ..trees.catalog import auto_model, register_pair, register_part
from ..trees.keeps import KeysValues
from ..trees.modules import Linear, Module, Weight
from .deepseek_ocr import sam_encoder
from .deepseek_ocr2_native import routed, without_head_dim
from .llama import LLAMA

# ---- vision


def sam_model(c: ModelConfig) -> Module:
    tower = sam_encoder(c.with_defaults(mlp_dim=3072))
    return renamed(tower, "Sam", "UnlimitedOcrSam")


def vision_model(c: ModelConfig) -> Module:
    return Module(
        "UnlimitedOcrVisionModel",
        sam_encoder=sam_model(c.section("sam_config")),
        vision_encoder=auto_model(
            c.section("encoder_config"), default_type="unlimited_ocr_vision_encoder"
        ),
        part="vision",
    )


# ---- text


def _kinds(d: Decoder, c: ModelConfig, layers: int) -> Sequence[tuple[str, bool]]:
    """Dense or sparse, and whether the prompt is kept apart."""
    looks = layer_types(c, layers, lambda _: "reference_sliding_attention")
    mlps = dense_first(1, listed=True)(d, c, layers)
    return [
        (mlp, look == "reference_sliding_attention") for mlp, look in zip(mlps, looks, strict=True)
    ]


def _attention(d: Decoder, c: ModelConfig) -> Module:
    c.divided(d.width(c), d.size(c, "num_attention_heads"), "head", "num_attention_heads")
    return grouped(d, without_head_dim(c))


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, bool]) -> Module:
    block = pre_norm(d, c, kind[0])
    attention = block["self_attn"]
    assert isinstance(attention, Module) and attention.keeps
    row = attention.keeps[0]
    if kind[1] and isinstance(row, KeysValues):
        attention.keeps = (KeysValues(row.key, row.value, heads=row.heads, prompt=True),)
    return block


TEXT = LLAMA.like(
    "UnlimitedOcrText", vocab_size=129280, hidden_size=1280, intermediate_size=6848,
    num_hidden_layers=12, num_attention_heads=10, num_key_value_heads=10, attention=_attention,
    moe=partial(routed, inner=896, chosen=6), kinds=_kinds, layer=_layer,
    windows=lambda c: windows(c, 128),
)  # fmt: skip


# ---- together


def _text(c: ModelConfig) -> ModelConfig:
    """Older files have it under ``language_config``."""
    named = c.has("text_config") or not c.has("language_config")
    return c.section("text_config" if named else "language_config").read_as("unlimited_ocr_text")


def model(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), TEXT.model(_text(c))
    tower, h = vision_model(vision).children, TEXT.width(_text(c))
    joined = vision.section("sam_config").dims("downsample_channels", default=(512, 1024))[-1]
    seen = joined + vision.section("encoder_config").dim("hidden_size", default=1024)
    mark = Weight(h, component=Component.EMBEDDING)
    return Module(
        "UnlimitedOcrModel",
        {
            "sam_model": tower["sam_encoder"],
            "vision_model": tower["vision_encoder"],
            "projector": projector("Linear", layers=Linear(seen, h)),
            **text.children,
            "view_seperator": mark,
            "image_newline": mark,
        },
    )


_WHOLE = causal_lm("UnlimitedOcrForConditionalGeneration", model)
register_part("unlimited_ocr_text", "UnlimitedOcrTextModel", TEXT.model, "text decoder")
register_part("unlimited_ocr_vision", "UnlimitedOcrVisionModel", vision_model, "vision")
register_part("unlimited_ocr_sam_vision_model", "UnlimitedOcrSamVisionEncoder", sam_model, "vision")
register_pair("unlimited_ocr", "UnlimitedOcr", _WHOLE, model, "multimodal")
