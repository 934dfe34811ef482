"""Granite Speech Plus (IBM 2026). Source of shapes: transformers/models/granite_speech_plus. The
projector may be given the outputs of several layers side by side."""

from ..layers.composing import renamed
from ..layers.multimodal import register_headed
from ..trees import ModelConfig, Module, builder, register_part
from . import granite_speech

_NAME = "GraniteSpeechPlus"


def _parts(c: ModelConfig, head: bool) -> dict[str, Module]:
    heard = c.section("encoder_config")
    joining = c.section("projector_config")
    if heard.has("cat_hidden_layers"):  # the projector is as wide as what it is given
        all_of = len(heard.dims("cat_hidden_layers", minimum=0)) + 1
        width = heard.dim("hidden_dim", "hidden_size", default=1024) * all_of
        if (wide := joining.dim("encoder_hidden_size", default=1408)) != width:
            raise joining.error("encoder_hidden_size", int(wide), f"{int(width)}, that of all")
    parts = granite_speech.parts(c, head)
    return {at: renamed(part, "GraniteSpeech", _NAME) for at, part in parts.items()}


register_part(
    "granite_speech_plus_encoder",
    f"{_NAME}CTCEncoder",
    lambda c: renamed(builder("GraniteSpeechCTCEncoder")(c), "GraniteSpeech", _NAME),
    "audio",
)
register_headed("granite_speech_plus", _NAME, _parts, "encoder", "projector")
