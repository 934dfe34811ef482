"""data2vec for speech (Baevski et al. 2022). Source: transformers/models/data2vec. wav2vec 2.0
whose positions come from a chain of small convolutions."""

from ..layers import speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech, model
from ..trees import Activation, Component, Conv, Layers, ModelConfig, Module
from .wav2vec2 import WAV2VEC2

_DEFAULTS = {**speech.DEFAULTS, "num_conv_pos_embeddings": 5, "conv_pos_kernel_size": 19}


def _model(s: Speech, c: ModelConfig) -> Module:
    h = hidden(c)
    groups = c.dim("num_conv_pos_embedding_groups")
    c.divided(h, groups, "hidden_size", "num_conv_pos_embedding_groups")
    step = Module(
        f"{s.name}PositionalConvLayer",
        conv=Conv(h, h, c.dim("conv_pos_kernel_size"), dims=1, groups=groups, kind="position"),
        padding=Activation(f"{s.name}PadLayer"),
        activation=Activation("GELUActivation"),
        layer_norm=Activation("LayerNorm", f"({int(h)},), elementwise_affine=False"),
    )
    layers = Layers([step] * int(c.count("num_conv_pos_embeddings")))
    root = model(s, speech.unstable(c).with_values(feat_extract_norm="layer"))
    name = f"{s.name}PositionalConvEmbedding"
    to = Component.CONV
    root.inside("encoder").adding(pos_conv_embed=Module(name, layers=layers, component=to))
    return root.adding(feature_extractor=speech.feature_encoder(c, s.name, form="layer"))


_DATA2VEC = WAV2VEC2.like("Data2VecAudio", "data2vec_audio", defaults=_DEFAULTS, make_model=_model)
_DATA2VEC.register("data2vec-audio")
