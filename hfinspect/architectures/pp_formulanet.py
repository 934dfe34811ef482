"""PP-FormulaNet (PaddleOCR 2025), a formula in a picture as LaTeX: SAM's image encoder and mBART's
decoder. Source of shapes: transformers/models/pp_formulanet/modeling_pp_formulanet.py."""

from functools import partial

from ..layers import seq2seq
from ..layers.heads import to_words
from ..layers.multimodal import projector, register_worded, within
from ..trees import Component, Conv, Linear, ModelConfig, Module, register_part
from . import sam
from .bart import BART

_NAME = "PPFormulaNet"
_SIZES = {"vocab": 50000, "width": 512, "layers": (12, 8), "inner": (2048, 2048), "length": 2560}
_TEXT = BART.like(_NAME, final_norm=True, **_SIZES)


def _vision(c: ModelConfig) -> Module:
    sizes = (("in", 256), ("mid", 512), ("out", 1024))
    first, inner, outer = (c.dim(f"post_conv_{at}_channels", default=size) for at, size in sizes)
    to = partial(Conv, kernel=3, bias=False, component=Component.PROJECTOR)
    out = Linear(outer, c.dim("decoder_hidden_size", default=512))
    convs = {"conv1": to(first, inner), "conv2": to(inner, outer)}
    last = {"linear_1": Linear(outer, outer), "linear_2": out}
    project = projector(f"{_NAME}MultiModalProjector", **convs, **last)
    root = sam.encoder_of(_NAME, c, image_size=512).called(f"{_NAME}VisionModel")
    return root.adding(multi_modal_projector=project)


def _text(c: ModelConfig) -> Module:
    root = seq2seq.stack(c, _TEXT, 1).called(f"{_NAME}TextModel")
    root.part = "text"
    return root


def _head(c: ModelConfig) -> Module:
    text = c.section("text_config")
    return to_words(seq2seq.width(text, _TEXT), seq2seq.vocab(text, _TEXT))


_MODEL = {"decoder": within("text_config", _text), "encoder": within("vision_config", _vision)}
register_worded("pp_formulanet", _NAME, _MODEL, head=_head, alone=_text)
register_part("pp_formulanet_vision", f"{_NAME}VisionModel", _vision, "vision")
