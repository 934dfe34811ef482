"""wav2vec 2.0 (Baevski et al. 2020). Source: transformers/models/wav2vec2/modeling_wav2vec2.py.

Convolutions over the waveform, a convolution in place of positions, then BERT's kind of layers.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech, speech_heads
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden
from ..trees.catalog import register
from ..trees.modules import Linear, Module

_NAME = "Wav2Vec2"


def model(c: ModelConfig, name: str = _NAME) -> Module:
    return Module(
        f"{name}Model",
        {
            "masked_spec_embed": speech.masked_spec_embed(c),
            "feature_extractor": speech.feature_encoder(c, name),
            "feature_projection": speech.feature_projection(c, name),
            "encoder": speech.encoder(c, name),
            "adapter": speech.length_adapter(c, name),
        },
        part="audio",
    )


def quantizer(c: ModelConfig) -> Module:
    return speech_heads.quantizer(c, _NAME)


def project_hid(c: ModelConfig) -> Module:
    size = c.dim("proj_codevector_dim", default=256)
    return Linear(hidden(c), size, component=Component.HEAD)


def project_q(c: ModelConfig) -> Module:
    inner, size = c.dim("codevector_dim", default=256), c.dim("proj_codevector_dim", default=256)
    return Linear(inner, size, component=Component.HEAD)


_LETTERS = {"wav2vec2": model, "dropout": speech_heads.dropout, "lm_head": speech_heads.ctc_head}

_CLASSES = composed(
    {
        "Wav2Vec2ForCTC": _LETTERS,
        "Wav2Vec2Model": model,
        "Wav2Vec2ForPreTraining": {
            "wav2vec2": model,
            "quantizer": quantizer,
            "project_hid": project_hid,
            "project_q": project_q,
        },
        "Wav2Vec2ForSequenceClassification": {"wav2vec2": model, **speech_heads.SEQUENCE},
        "Wav2Vec2ForAudioFrameClassification": {"wav2vec2": model, **speech_heads.FRAMES},
        "Wav2Vec2ForXVector": {"wav2vec2": model, **speech_heads.SPEAKER},
        "Wav2Vec2ForMaskedLM": _LETTERS,  # Until transformers 5.
    },
    part="audio",
)

register(
    "wav2vec2",
    with_defaults(speech.DEFAULTS, _CLASSES),
    base="Wav2Vec2Model",
    base_prefix="wav2vec2",
    category="audio",
)
