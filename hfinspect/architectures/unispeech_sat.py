"""UniSpeech-SAT (Chen et al. 2021). Source of shapes: transformers/models/unispeech_sat.

wav2vec 2.0's model, trained to distinguish speakers.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import speech, speech_heads
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden
from ..trees.catalog import register
from ..trees.modules import Linear, Module, Parameter, Weight

_NAME = "UniSpeechSat"


def model(c: ModelConfig) -> Module:
    return Module(
        "UniSpeechSatModel",
        {
            "masked_spec_embed": Weight(
                hidden(c), component=Component.EMBEDDING, kind="mask_token"
            ),
            "feature_extractor": speech.feature_encoder(c, _NAME),
            "feature_projection": speech.feature_projection(c, _NAME),
            "encoder": speech.encoder(c, _NAME),
        },
        part="audio",
    )


def _code(c: ModelConfig) -> Dim:
    return c.dim("codevector_dim", default=256)


def _projected(c: ModelConfig) -> Dim:
    return c.dim("proj_codevector_dim", default=256)


def quantizer(c: ModelConfig) -> Module:
    return speech_heads.quantizer(c, _NAME, seen=hidden(c))


def project_q(c: ModelConfig) -> Module:
    return Linear(_code(c), _projected(c), component=Component.HEAD)


def project_hid(c: ModelConfig) -> Module:
    return Linear(hidden(c), _projected(c), component=Component.HEAD)


def speaker_proj(c: ModelConfig) -> Module:
    return Linear(hidden(c), _code(c), component=Component.PROJECTOR)


def clusters(c: ModelConfig) -> Parameter:
    return Weight(c.dim("num_clusters", default=504), _code(c), component=Component.EMBEDDING)


_CLASSES = composed(
    {
        "UniSpeechSatForCTC": {"unispeech_sat": model, **speech_heads.LETTERS},
        "UniSpeechSatModel": model,
        "UniSpeechSatForPreTraining": {
            "label_embeddings_concat": clusters,
            "unispeech_sat": model,
            "quantizer": quantizer,
            "project_q": project_q,
            "project_hid": project_hid,
            "speaker_proj": speaker_proj,
            "layer_norm_for_extract": speech.norm,
        },
        "UniSpeechSatForSequenceClassification": {"unispeech_sat": model, **speech_heads.SEQUENCE},
        "UniSpeechSatForAudioFrameClassification": {"unispeech_sat": model, **speech_heads.FRAMES},
        "UniSpeechSatForXVector": {"unispeech_sat": model, **speech_heads.SPEAKER},
    },
    part="audio",
)

register(
    "unispeech-sat",
    with_defaults(speech.DEFAULTS, _CLASSES),
    base_prefix="unispeech_sat",
    category="audio",
)
