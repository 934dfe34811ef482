"""SEW (Wu et al. 2021). Source of shapes: transformers/models/sew. wav2vec 2.0 with a longer chain
of narrow convolutions and layers at half the rate, undone by one linear layer at the end."""

from ..layers import speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import SHORT, Speech
from ..trees import Activation, Component, Dropout, Linear, ModelConfig, Module
from .wav2vec2 import WAV2VEC2

DEFAULTS = {
    **speech.DEFAULTS,
    "conv_dim": (64, *(128,) * 4, *(256,) * 4, *(512,) * 4),
    "conv_kernel": (10, *(3, 1) * 4, *(2, 1) * 2),
    "conv_stride": (5, *(2, 1) * 6),
}


def _model(s: Speech, c: ModelConfig) -> Module:
    h = hidden(c)
    last = speech.conv_sizes(c)[-1][1]
    wide = h * c.dim("squeeze_factor", default=2)
    act = Activation("GELUActivation")
    upsample = Module(f"{s.name}Upsampling", projection=Linear(h, wide), activation=act)
    upsample.component = Component.CONV
    pool = Activation("AvgPool1d")
    return Module(
        f"{s.name}Model",
        masked_spec_embed=speech.masked_spec_embed(c),
        feature_extractor=speech.feature_encoder(c, s.name),
        layer_norm=speech.norm(c, last),
        feature_projection=None if last == h else Linear(last, h, component=Component.EMBEDDING),
        feature_dropout=Dropout(c.number("feat_proj_dropout", default=0.0)),
        encoder=speech.encoder(speech.unstable(c), s.name).adding(pool=pool, upsample=upsample),
        part="audio",
    )


SEW = WAV2VEC2.like("SEW", "sew", defaults=DEFAULTS, make_model=_model, tasks=SHORT)
SEW.register("sew")
