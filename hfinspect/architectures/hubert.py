"""HuBERT (Hsu et al. 2021). Source of shapes: transformers/models/hubert/modeling_hubert.py.

wav2vec 2.0's model, learned otherwise; some files norm positions by batch, some lack the norm
before the projection.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import speech, speech_heads
from ..layers.composing import composed, with_defaults
from ..trees.catalog import register
from ..trees.modules import Module

_NAME = "Hubert"


def model(c: ModelConfig) -> Module:
    normed = c.flag("feat_proj_layer_norm", default=True)
    return Module(
        "HubertModel",
        {
            "masked_spec_embed": speech.masked_spec_embed(c),
            "feature_extractor": speech.feature_encoder(c, _NAME),
            "feature_projection": speech.feature_projection(c, _NAME, normed=normed),
            "encoder": speech.encoder(c, _NAME),
        },
        part="audio",
    )


_CLASSES = composed(
    {
        "HubertForCTC": {
            "hubert": model,
            "dropout": speech_heads.dropout,
            "lm_head": speech_heads.ctc_head,
        },
        "HubertModel": model,
        "HubertForSequenceClassification": {"hubert": model, **speech_heads.SEQUENCE},
    },
    part="audio",
)

register(
    "hubert",
    with_defaults(speech.DEFAULTS, _CLASSES),
    base="HubertModel",
    base_prefix="hubert",
    category="audio",
)
