"""UniSpeech-SAT (Chen et al. 2021): wav2vec 2.0's model, trained to distinguish speakers. Source of
shapes: transformers/models/unispeech_sat."""

from ..layers import speech
from ..layers.blocks import size
from ..layers.composing import FormPart
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech, model
from ..layers.speech_heads import linear, quantizer
from ..trees import Component, ModelConfig, Module, Weight
from .wav2vec2 import CODE, WAV2VEC2, project_hid, project_q


def _model(s: Speech, c: ModelConfig) -> Module:
    """The vector in place of masked frames is there in any case."""
    mask = Weight(hidden(c), component=_TABLE, kind="mask_token")
    parts = {"masked_spec_embed": mask, **model(s, c).children}
    return Module(f"{s.name}Model", parts, part="audio")


_TABLE = Component.EMBEDDING
_clusters = size("num_clusters", default=504)
_UNISPEECH = WAV2VEC2.like("UniSpeechSat", "unispeech_sat", make_model=_model, adapted=False)
_FORM: dict[str, FormPart] = {
    "label_embeddings_concat": lambda c: Weight(_clusters(c), CODE(c), component=_TABLE),
    "unispeech_sat": _UNISPEECH.model,
    "quantizer": lambda c: quantizer(c, "UniSpeechSat", inputs=hidden(c)),
    "project_q": project_q,
    "project_hid": project_hid,
    "speaker_proj": linear(hidden, CODE, Component.PROJECTOR),
    "layer_norm_for_extract": speech.norm,
}
_UNISPEECH.register("unispeech-sat", more={"ForPreTraining": _FORM})
