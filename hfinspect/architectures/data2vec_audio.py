"""data2vec for speech (Baevski et al. 2022). Source: transformers/models/data2vec.

wav2vec 2.0 whose positions come from a chain of small convolutions.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech, model
from ..trees.modules import Activation, Conv, Layers, Module
from .wav2vec2 import WAV2VEC2

_NAME = "Data2VecAudio"
_DEFAULTS = {**speech.DEFAULTS, "num_conv_pos_embeddings": 5, "conv_pos_kernel_size": 19}


def positions(c: ModelConfig) -> Module:
    h, groups = hidden(c), c.dim("num_conv_pos_embedding_groups")
    c.divided(h, groups, "hidden_size", "num_conv_pos_embedding_groups")
    step = Module(
        "Data2VecAudioPositionalConvLayer",
        conv=Conv(h, h, c.dim("conv_pos_kernel_size"), dims=1, groups=groups, kind="position"),
        padding=Activation("Data2VecAudioPadLayer"),
        activation=Activation("GELUActivation"),
        layer_norm=Activation("LayerNorm", f"({int(h)},), elementwise_affine=False"),
    )
    layers = Layers([step] * int(c.count("num_conv_pos_embeddings")))
    return Module("Data2VecAudioPositionalConvEmbedding", layers=layers, component=Component.CONV)


def _model(s: Speech, c: ModelConfig) -> Module:
    found = model(s, speech.unstable(c).with_values(feat_extract_norm="layer"))
    found.children["feature_extractor"] = speech.feature_encoder(c, _NAME, form="layer")
    found.inside("encoder").children["pos_conv_embed"] = positions(c)
    return found


WAV2VEC2.like(_NAME, "data2vec_audio", defaults=_DEFAULTS, whole=_model).register("data2vec-audio")
