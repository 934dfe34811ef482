"""wav2vec 2.0 (Baevski et al. 2020). Source: transformers/models/wav2vec2/modeling_wav2vec2.py.

Convolutions over the waveform, a convolution in place of positions, then BERT's kind of layers.
"""

from collections.abc import Mapping

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech, speech_heads
from ..layers.composing import Part
from ..layers.encoders import hidden
from ..layers.speech_encoders import Forms, Speech
from ..trees.modules import Linear, Module

WAV2VEC2 = Speech("Wav2Vec2", "wav2vec2", speech.DEFAULTS)


def project_hid(c: ModelConfig) -> Module:
    size = c.dim("proj_codevector_dim", default=256)
    return Linear(hidden(c), size, component=Component.HEAD)


def project_q(c: ModelConfig) -> Module:
    inner, size = c.dim("codevector_dim", default=256), c.dim("proj_codevector_dim", default=256)
    return Linear(inner, size, component=Component.HEAD)


def pre_training(s: Speech) -> Forms:
    """Masked frames are distinguished from others in a space of their own."""
    return {
        "ForPreTraining": {
            s.prefix: s.model,
            "quantizer": lambda c: speech_heads.quantizer(c, s.name),
            "project_hid": project_hid,
            "project_q": project_q,
        }
    }


_LETTERS: Mapping[str, Part] = {"wav2vec2": WAV2VEC2.model, **speech_heads.LETTERS}
WAV2VEC2.register(
    "wav2vec2",
    more={**pre_training(WAV2VEC2), "ForMaskedLM": _LETTERS},  # the latter until transformers 5
)
