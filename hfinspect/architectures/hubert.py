"""HuBERT (Hsu et al. 2021). Source of shapes: transformers/models/hubert/modeling_hubert.py. Some
files norm positions by batch, some lack the norm before the projection."""

from ..layers import speech
from ..layers.speech_encoders import SHORT, Speech
from ..trees import ModelConfig, Module
from .wav2vec2 import WAV2VEC2


def _projected(s: Speech, c: ModelConfig) -> Module:
    return speech.feature_projection(c, s.name, normed=c.flag("feat_proj_layer_norm", default=True))


_HUBERT = WAV2VEC2.like("Hubert", "hubert", projected=_projected, adapted=False, tasks=SHORT)
_HUBERT.register("hubert")
