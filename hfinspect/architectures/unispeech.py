"""UniSpeech (Wang et al. 2021). Source of shapes: transformers/models/unispeech.

wav2vec 2.0's model with another head for pre-training.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech, speech_heads
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden
from ..trees.catalog import register
from ..trees.modules import Dropout, Linear, Module

_NAME = "UniSpeech"


def model(c: ModelConfig) -> Module:
    return Module(
        "UniSpeechModel",
        {
            "masked_spec_embed": speech.masked_spec_embed(c),
            "feature_extractor": speech.feature_encoder(c, _NAME),
            "feature_projection": speech.feature_projection(c, _NAME),
            "encoder": speech.encoder(c, _NAME),
        },
        part="audio",
    )


def _quantizer(c: ModelConfig) -> Module:
    return speech_heads.quantizer(c, _NAME)


def _sizes(c: ModelConfig) -> tuple[int, int]:
    return c.dim("codevector_dim", default=256), c.dim("proj_codevector_dim", default=256)


def project_q(c: ModelConfig) -> Module:
    inner, size = _sizes(c)
    return Linear(inner, size, component=Component.HEAD)


def project_hid(c: ModelConfig) -> Module:
    return Linear(_sizes(c)[1], hidden(c), component=Component.HEAD)


def ctc_proj(c: ModelConfig) -> Module:
    return Linear(hidden(c), c.dim("num_ctc_classes", default=80), component=Component.HEAD)


def _dropout(c: ModelConfig) -> Module:
    return Dropout(c.number("final_dropout", default=0.1))


_CLASSES = composed(
    {
        "UniSpeechForCTC": {
            "unispeech": model,
            "dropout": _dropout,
            "lm_head": speech_heads.ctc_head,
        },
        "UniSpeechModel": model,
        "UniSpeechForPreTraining": {
            "unispeech": model,
            "quantizer": _quantizer,
            "project_q": project_q,
            "project_hid": project_hid,
            "ctc_proj": ctc_proj,
        },
        "UniSpeechForSequenceClassification": {"unispeech": model, **speech_heads.SEQUENCE},
    },
    part="audio",
)

register(
    "unispeech",
    with_defaults(speech.DEFAULTS, _CLASSES),
    base="UniSpeechModel",
    base_prefix="unispeech",
    category="audio",
)
