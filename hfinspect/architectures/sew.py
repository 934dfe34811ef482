"""SEW (Wu et al. 2021). Source of shapes: transformers/models/sew/modeling_sew.py.

wav2vec 2.0 with a longer chain of narrow convolutions and layers at half the rate, undone by one
linear layer at the end.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import SHORT, Speech
from ..trees.modules import Activation, Dropout, Linear, Module
from .wav2vec2 import WAV2VEC2

_NAME = "SEW"
DEFAULTS = {
    **speech.DEFAULTS,
    "conv_dim": (64, 128, 128, 128, 128, 256, 256, 256, 256, 512, 512, 512, 512),
    "conv_kernel": (10, 3, 1, 3, 1, 3, 1, 3, 1, 2, 1, 2, 1),
    "conv_stride": (5, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1),
}


def model(_s: Speech, c: ModelConfig) -> Module:
    h, last = hidden(c), speech.conv_sizes(c)[-1][1]
    squeeze = c.dim("squeeze_factor", default=2)
    encoder = speech.encoder(speech.unstable(c), _NAME)
    encoder.children |= {
        "pool": Activation("AvgPool1d"),
        "upsample": Module(
            "SEWUpsampling",
            projection=Linear(h, h * squeeze),
            activation=Activation("GELUActivation"),
            component=Component.CONV,
        ),
    }
    projection = Linear(last, h, component=Component.EMBEDDING)
    return Module(
        "SEWModel",
        {
            "masked_spec_embed": speech.masked_spec_embed(c),
            "feature_extractor": speech.feature_encoder(c, _NAME),
            "layer_norm": speech.norm(c, last),
            "feature_projection": projection if last != h else None,
            "feature_dropout": Dropout(c.number("feat_proj_dropout", default=0.0)),
            "encoder": encoder,
        },
        part="audio",
    )


SEW = WAV2VEC2.like(_NAME, "sew", defaults=DEFAULTS, whole=model, endings=SHORT)
SEW.register("sew")
