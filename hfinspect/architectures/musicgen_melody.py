"""MusicGen Melody (Copet et al. 2023). Source: transformers/models/musicgen_melody.

As musicgen.py, but texts and melody stand before the tokens instead of being attended to: no
cross-attention, and a second projection, from the 12 notes of a chromagram.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import linear_projector
from ..trees.catalog import auto_class, auto_model, builder, register_part
from ..trees.keeps import Unknown
from ..trees.modules import Module, each_module
from .encoder_decoder import width_of


def _prompted(decoder: Module) -> Module:
    """The whole model's decoder keeps its prompts too, and the config does not say their length."""
    for layer in each_module(decoder):
        if "self_attn" in layer.children:
            why = "texts and melody stand before its tokens, as many as are given"
            layer.keeps = (Unknown(why),)
    return decoder


def _projection(inputs: int, outputs: Dim) -> Module | None:
    return None if inputs == outputs else linear_projector(inputs, outputs)


def conditional_generation(c: ModelConfig) -> Module:
    texts = c.section("text_encoder")
    speaker = c.section("decoder")
    encoder = auto_class(texts, "EncoderModel", default_type="t5")
    hidden = speaker.dim("hidden_size", default=1024)
    return Module(
        "MusicgenMelodyForConditionalGeneration",
        text_encoder=encoder,
        audio_encoder=auto_model(c.section("audio_encoder"), default_type="encodec"),
        decoder=_prompted(builder("MusicgenMelodyForCausalLM")(speaker)),
        enc_to_dec_proj=_projection(width_of(texts, encoder, last=True), hidden),
        audio_enc_to_dec_proj=_projection(c.dim("num_chroma", default=12), hidden),
    )


register_part(
    "musicgen_melody", "MusicgenMelodyForConditionalGeneration", conditional_generation, "audio"
)
