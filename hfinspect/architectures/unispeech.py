"""UniSpeech (Wang et al. 2021). Source of shapes: transformers/models/unispeech.

wav2vec 2.0's model with another head for pre-training.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech_heads
from ..layers.encoders import hidden
from ..layers.speech_encoders import SHORT
from ..trees.modules import Linear, Module
from .wav2vec2 import WAV2VEC2, project_q


def project_hid(c: ModelConfig) -> Module:
    size = c.dim("proj_codevector_dim", default=256)
    return Linear(size, hidden(c), component=Component.HEAD)


def ctc_proj(c: ModelConfig) -> Module:
    return Linear(hidden(c), c.dim("num_ctc_classes", default=80), component=Component.HEAD)


_UNISPEECH = WAV2VEC2.like("UniSpeech", "unispeech", adapted=False, endings=SHORT)
_UNISPEECH.register(
    "unispeech",
    more={
        "ForPreTraining": {
            "unispeech": _UNISPEECH.model,
            "quantizer": lambda c: speech_heads.quantizer(c, "UniSpeech"),
            "project_q": project_q,
            "project_hid": project_hid,
            "ctc_proj": ctc_proj,
        }
    },
)
