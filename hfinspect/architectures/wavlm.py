"""WavLM (Chen et al. 2021). Source of shapes: transformers/models/wavlm/modeling_wavlm.py.

wav2vec 2.0 with gated relative positions: a gate in every layer, one table in the first.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech
from ..trees.modules import Embedding, Linear, Module, Weight
from .wav2vec2 import WAV2VEC2

#: Outputs of the gate: two halves of four (modeling_wavlm.py, gru_rel_pos_linear).
_GATE = 8


def attention(c: ModelConfig, *, first: bool) -> Module:
    block = speech.attention(c, "WavLM")
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


def _stack(s: Speech, c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers"))
    first = speech.layer(c, s.name, attend=attention(c, first=True), adapted=False)
    rest = speech.layer(c, s.name, attend=attention(c, first=False), adapted=False)
    return speech.encoder(c, s.name, [first, *[rest] * (count - 1)] if count else [])


WAV2VEC2.like("WavLM", "wavlm", encoder=_stack).register("wavlm")
