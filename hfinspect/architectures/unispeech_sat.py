"""UniSpeech-SAT (Chen et al. 2021). Source of shapes: transformers/models/unispeech_sat.

wav2vec 2.0's model, trained to distinguish speakers.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech, speech_heads
from ..layers.blocks import size
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech, model
from ..trees.modules import Linear, Module, Parameter, Weight
from .wav2vec2 import WAV2VEC2, project_hid, project_q

_code = size("codevector_dim", default=256)


def _model(s: Speech, c: ModelConfig) -> Module:
    """The vector in place of masked frames is there in any case."""
    found = model(s, c)
    mask = Weight(hidden(c), component=Component.EMBEDDING, kind="mask_token")
    found.children = {"masked_spec_embed": mask, **found.children}
    return found


def speaker_proj(c: ModelConfig) -> Module:
    return Linear(hidden(c), _code(c), component=Component.PROJECTOR)


def clusters(c: ModelConfig) -> Parameter:
    return Weight(c.dim("num_clusters", default=504), _code(c), component=Component.EMBEDDING)


_UNISPEECH = WAV2VEC2.like("UniSpeechSat", "unispeech_sat", whole=_model, adapted=False)
_UNISPEECH.register(
    "unispeech-sat",
    more={
        "ForPreTraining": {
            "label_embeddings_concat": clusters,
            "unispeech_sat": _UNISPEECH.model,
            "quantizer": lambda c: speech_heads.quantizer(c, "UniSpeechSat", seen=hidden(c)),
            "project_q": project_q,
            "project_hid": project_hid,
            "speaker_proj": speaker_proj,
            "layer_norm_for_extract": speech.norm,
        }
    },
)
