"""UniSpeech (Wang et al. 2021): wav2vec 2.0's model with another head for pre-training. Source of
shapes: transformers/models/unispeech."""

from ..layers.blocks import size
from ..layers.encoders import hidden
from ..layers.speech_encoders import SHORT
from ..layers.speech_heads import linear
from .wav2vec2 import PROJECTED, WAV2VEC2, pre_training, project_q

_UNISPEECH = WAV2VEC2.like("UniSpeech", "unispeech", adapted=False, tasks=SHORT)
_HEADS = {
    "project_q": project_q,
    "project_hid": linear(PROJECTED, hidden),
    "ctc_proj": linear(hidden, size("num_ctc_classes", default=80)),
}
_UNISPEECH.register("unispeech", more=pre_training(_UNISPEECH, **_HEADS))
