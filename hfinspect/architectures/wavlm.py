"""WavLM (Chen et al. 2021). Source of shapes: transformers/models/wavlm. wav2vec 2.0 with gated
relative positions: a gate in every layer, one table in the first."""

from ..layers import speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech
from ..trees import Component, Embedding, Linear, ModelConfig, Module, Weight
from .wav2vec2 import WAV2VEC2

#: Outputs of the gate: two halves of four (modeling_wavlm.py, gru_rel_pos_linear).
_GATE = 8


def _stack(s: Speech, c: ModelConfig) -> Module:
    heads = c.dim("num_attention_heads")
    kind = "relative_position"
    buckets = c.dim("num_buckets", default=320)
    to = Component.ATTENTION
    table = Embedding(buckets, heads, component=to, kind=kind)

    def layer(**more: Module) -> Module:
        block = speech.attention(c, s.name).adding(
            gru_rel_pos_const=Weight(1, heads, 1, 1, kind=kind),
            gru_rel_pos_linear=Linear(hidden(c) // heads, _GATE, kind=kind),
            **more,
        )
        return speech.layer(c, s.name, attend=block, adapted=False)

    layers = [layer(rel_attn_embed=table), *[layer()] * int(c.count("num_hidden_layers"))]
    return speech.encoder(c, s.name, layers[:-1])


WAV2VEC2.like("WavLM", "wavlm", encoder=_stack).register("wavlm")
