"""Granite 4 Vision (IBM 2026; transformers/models/granite4_vision): any tower, Q-Formers over
windows of its patches, one for each layer read and four for corners of squares, and Granite."""

import re

from ..layers.multimodal import any_model, projecting, projector, register_worded, tower_width
from ..trees import Component, Dim, ModelConfig, auto_model, config_defaults, exact
from ..trees.modules import Dropout, LayerNorm, Linear, Module, ModuleList, Weight
from .llama import LLAMA

_NAME = "Granite4Vision"
_TEXT = LLAMA.like(f"{_NAME}Text", mlp_bias=False)
#: What the config class makes of an absent section.
_QFORMER = config_defaults("granite4_vision")


def _downsampler(c: ModelConfig, width: Dim, text: Dim) -> Module:
    """``downsample_rate``: how many queries and patches a side of a window has, as in ``3/8``. The
    Q-Former is as wide as the tower, whatever its section says."""
    rate = c.text("downsample_rate")
    wide = int(width)
    match = re.fullmatch(r"\s*(\d{1,4})\s*/\s*(\d{1,4})\s*", rate or "")
    if match is None or not int(match[1]) or not int(match[2]):
        raise c.error("downsample_rate", rate, "two numbers with a stroke between them, as 1/4")
    queries, window = (exact(int(side) ** 2) for side in match.groups())
    qformer = c.section("qformer_config", default=_QFORMER).of_type("blip_2_qformer")
    widths = dict.fromkeys(("hidden_size", "encoder_hidden_size"), wide)
    section = qformer.with_values(**widths, num_attention_heads=wide // 64)
    return projector(
        f"{_NAME}WindowQFormerDownsampler",
        query=Weight(1, queries, width),
        image_positions=Weight(1, window, width),
        dropout=Dropout(c.number("projector_dropout", default=0.1)),
        qformer=projecting(auto_model(section, default_type="blip_2_qformer")),
        norm=LayerNorm(width, eps=1e-6),
        out_linear=Linear(width, text),
    )


def _model(c: ModelConfig) -> Module:
    tower = any_model("vision_config", "clip_vision_model", "vision")(c)
    read = c.raw("deepstack_layer_map")
    text = c.section("text_config")
    if not isinstance(read, list):
        raise c.error("deepstack_layer_map", read, "a list of pairs of layers")
    one = _downsampler(c, tower_width(tower), _TEXT.width(text))
    return Module(
        f"{_NAME}Model",
        image_newline=Weight(_TEXT.width(text), component=Component.EMBEDDING),
        vision_tower=tower,
        language_model=_TEXT.model(text),
        layerwise_projectors=ModuleList([one] * len(read)),
        spatial_projectors=ModuleList([one] * 4),
    )


register_worded("granite4_vision", _NAME, _model, tied=False, alone=_TEXT.model)
