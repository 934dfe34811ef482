"""Granite Speech (IBM 2025). Source: transformers/models/granite_speech. The adapter that released
models load for speech is in a file of its own."""

from ..layers.multimodal import decoder, language_model, projecting, projector, register_headed
from ..trees import Linear, ModelConfig, Module, Weight, auto_model, builder

_NAME = "GraniteSpeech"


def parts(c: ModelConfig, head: bool) -> dict[str, Module]:
    text = decoder(c, "granite")
    section = c.section("projector_config")
    width = section.dim("hidden_size", default=768)
    queries = c.dim("window_size", default=15) // c.dim("downsample_rate", default=5)
    qformer = projecting(auto_model(section, default_type="blip_2_qformer"))
    joining = {"qformer": qformer, "linear": Linear(width, text.hidden)}
    query = Weight(1, queries, width)
    name = f"{_NAME}EncoderProjector"
    return {
        "encoder": builder(f"{_NAME}CTCEncoder")(c.section("encoder_config")),
        "projector": projector(name, query=query, **joining),
        "language_model": language_model(text, head=head, tied=c.tied(default=True)),
    }


register_headed("granite_speech", _NAME, parts, "encoder", "projector")
