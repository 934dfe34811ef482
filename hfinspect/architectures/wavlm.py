"""WavLM (Chen et al. 2021). Source of shapes: transformers/models/wavlm/modeling_wavlm.py.

wav2vec 2.0 with gated relative positions: a gate in every layer, one table in the first.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech, speech_heads
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden
from ..trees.catalog import register
from ..trees.modules import Embedding, Linear, Module, Weight

_NAME = "WavLM"

#: Outputs of the gate: two halves of four (modeling_wavlm.py, gru_rel_pos_linear).
_GATE = 8


def attention(c: ModelConfig, *, first: bool) -> Module:
    block = speech.attention(c, _NAME)
    heads = c.dim("num_attention_heads")
    kind = "relative_position"
    block.children |= {
        "gru_rel_pos_const": Weight(1, heads, 1, 1, kind=kind),
        "gru_rel_pos_linear": Linear(hidden(c) // heads, _GATE, kind=kind),
    }
    if first:
        buckets = c.dim("num_buckets", default=320)
        block.children["rel_attn_embed"] = Embedding(
            buckets, heads, component=Component.ATTENTION, kind=kind
        )
    return block


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers"))
    first = speech.layer(c, _NAME, attend=attention(c, first=True), adapted=False)
    rest = speech.layer(c, _NAME, attend=attention(c, first=False), adapted=False)
    blocks = [first, *[rest] * (count - 1)] if count else []
    return Module(
        "WavLMModel",
        {
            "masked_spec_embed": speech.masked_spec_embed(c),
            "feature_extractor": speech.feature_encoder(c, _NAME),
            "feature_projection": speech.feature_projection(c, _NAME),
            "encoder": speech.encoder(c, _NAME, blocks),
            "adapter": speech.length_adapter(c, _NAME),
        },
        part="audio",
    )


_CLASSES = composed(
    {
        "WavLMForCTC": {
            "wavlm": model,
            "dropout": speech_heads.dropout,
            "lm_head": speech_heads.ctc_head,
        },
        "WavLMModel": model,
        "WavLMForSequenceClassification": {"wavlm": model, **speech_heads.SEQUENCE},
        "WavLMForAudioFrameClassification": {"wavlm": model, **speech_heads.FRAMES},
        "WavLMForXVector": {"wavlm": model, **speech_heads.SPEAKER},
    },
    part="audio",
)

register(
    "wavlm",
    with_defaults(speech.DEFAULTS, _CLASSES),
    base="WavLMModel",
    base_prefix="wavlm",
    category="audio",
)
