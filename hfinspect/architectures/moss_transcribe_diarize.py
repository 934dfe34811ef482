"""MOSS-Transcribe-Diarize (2026). Source: transformers/models/moss_transcribe_diarize.

Whisper's encoder (a trace), a projector over several frames side by side, and a Qwen3 decoder.
"""

from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.multimodal import decoder, projector, register_worded
from ..layers.whisper_encoder import width
from ..trees.catalog import builder
from ..trees.modules import LayerNorm, Linear, Module

_NAME = "MossTranscribeDiarize"
#: Sizes of the text model where config.json has none.
_TEXT = {
    "model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 8,
}  # fmt: skip
_AUDIO = {"hidden_size": 1024, "intermediate_size": 4096}


def _audio(c: ModelConfig) -> ModelConfig:
    # The wide spellings are synonyms; either may stand in the file.
    spelled = {"d_model": "hidden_size", "encoder_ffn_dim": "intermediate_size"}
    given = {spelled[key]: value for key, value in c.values.items() if key in spelled}
    return c.with_defaults(**{**_AUDIO, **given})


def _joining(c: ModelConfig, text: int) -> Module:
    inputs = width(_audio(c.section("audio_config"))) * c.dim("audio_merge_size", default=4)
    bias = c.flag("projector_bias", default=True)
    return projector(
        f"{_NAME}MultiModalProjector",
        linear_1=Linear(inputs, text, bias=bias),
        act=activation(c.text("projector_hidden_act", default="silu")),
        linear_2=Linear(text, text, bias=bias),
        norm=LayerNorm(text),
    )


def model(c: ModelConfig) -> Module:
    text = decoder(c, "qwen3", defaults=_TEXT)
    return Module(
        f"{_NAME}Model",
        audio_tower=builder(f"{_NAME}AudioModel")(c.section("audio_config")),
        language_model=text.base,
        multi_modal_projector=_joining(c, text.hidden),
    )


register_worded("moss_transcribe_diarize", _NAME, model, tied=True)
