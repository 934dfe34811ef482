"""wav2vec 2.0 (Baevski et al. 2020). Source: transformers/models/wav2vec2."""

from ..layers import speech
from ..layers.blocks import size
from ..layers.composing import FormPart, Forms
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech
from ..layers.speech_heads import LETTERS, linear, quantizer

WAV2VEC2 = Speech("Wav2Vec2", "wav2vec2", speech.DEFAULTS)
CODE = size("codevector_dim", default=256)
PROJECTED = size("proj_codevector_dim", default=256)
project_hid = linear(hidden, PROJECTED)
project_q = linear(CODE, PROJECTED)


def pre_training(s: Speech, **heads: FormPart) -> Forms:
    """Masked frames are distinguished from others in a space of their own, by ``heads``."""
    heads = heads or {"project_hid": project_hid, "project_q": project_q}
    form = {s.prefix: s.model, "quantizer": lambda c: quantizer(c, s.name), **heads}
    return {"ForPreTraining": form}


# The latter of these classes until transformers 5.
_MORE = {**pre_training(WAV2VEC2), "ForMaskedLM": {"wav2vec2": WAV2VEC2.model, **LETTERS}}
WAV2VEC2.register("wav2vec2", more=_MORE)
