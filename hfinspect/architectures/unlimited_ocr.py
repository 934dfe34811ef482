"""Unlimited-OCR (Baidu 2026; transformers/models/unlimited_ocr): DeepSeek-OCR's towers and names; a
decoder that looks at all of the prompt and at a window of what it generated."""

from dataclasses import replace

from ..layers.composing import renamed
from ..layers.decoders import Decoder, evenly, pre_norm
from ..layers.latent_decoders import dense_first
from ..layers.layer_kinds import side_by_side, words
from ..layers.multimodal import any_model, projector, register_worded, within
from ..layers.windows import windows
from ..trees import Component, KeysValues, Linear, ModelConfig, Module, Weight, register_part
from ..trees.config_defaults import config_defaults
from .deepseek_ocr import sam_encoder
from .deepseek_ocr2_native import routed
from .llama import LLAMA

#: A layer that looks at all of the prompt and at a window of what follows.
_PROMPT = "reference_sliding_attention"


def _sam_model(c: ModelConfig) -> Module:
    return renamed(sam_encoder(c.with_defaults(mlp_dim=3072)), "Sam", "UnlimitedOcrSam")


_TOWERS = {
    "sam_encoder": within("sam_config", _sam_model),
    "vision_encoder": any_model("encoder_config", "unlimited_ocr_vision_encoder"),
}


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    """Dense or sparse, and whether the prompt is kept apart."""
    c.divided(d.width(c), d.size(c, key := "num_attention_heads"), "head", key)
    block = pre_norm(d, c, kind[0])
    attention = block.inside("self_attn")
    for row in attention.cache or ():
        if kind[1] == _PROMPT and isinstance(row, KeysValues):
            attention.cache = (replace(row, prompt=True),)
    return block


TEXT = LLAMA.like(
    "UnlimitedOcrText",
    **config_defaults("unlimited_ocr"),
    attention=evenly,
    moe=routed(896, 6),
    layer=_layer,
    windows=lambda c: windows(c, 128),
    kinds=side_by_side(dense_first(1, listed=True), words(lambda _c, _i: _PROMPT)),
)


def _model(c: ModelConfig) -> Module:
    """Older files have the text under ``language_config``."""
    newer = c.has("text_config") or not c.has("language_config")
    vision = c.section("vision_config")
    text = c.section("text_config" if newer else "language_config").read_as("unlimited_ocr_text")
    h = TEXT.width(text)
    mark = Weight(TEXT.width(text), component=Component.EMBEDDING)
    joined = vision.section("sam_config").dims("downsample_channels", default=(512, 1024))[-1]
    inputs = joined + vision.section("encoder_config").dim("hidden_size", default=1024)
    return Module(
        "UnlimitedOcrModel",
        {
            "sam_model": _TOWERS["sam_encoder"](vision),
            "vision_model": _TOWERS["vision_encoder"](vision),
            "projector": projector("Linear", layers=Linear(inputs, h)),
            **TEXT.model(text).children,
            "view_seperator": mark,
            "image_newline": mark,
        },
    )


register_part("unlimited_ocr_vision", "UnlimitedOcrVisionModel", _TOWERS, "vision")
_SAM = "UnlimitedOcrSamVisionEncoder"
register_part("unlimited_ocr_sam_vision_model", _SAM, _sam_model, "vision")
register_worded("unlimited_ocr", "UnlimitedOcr", _model, tied=False, text="", alone=TEXT.model)
