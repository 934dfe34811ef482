"""MusicGen Melody (Copet et al. 2023). Source: transformers/models/musicgen_melody.

As musicgen.py, but texts and melody stand before the tokens instead of being attended to: no
cross-attention, and a second projection, from the 12 notes of a chromagram.
"""

from ..core.config import ModelConfig
from ..layers.multimodal import linear_projector
from ..trees.catalog import auto_class, auto_model, builder, register_part
from ..trees.keeps import Unknown
from ..trees.modules import Module, each_module
from .encoder_decoder import width_of


def conditional_generation(c: ModelConfig) -> Module:
    texts, section = c.section("text_encoder"), c.section("decoder")
    encoder = auto_class(texts, "EncoderModel", default_type="t5")
    decoder = builder("MusicgenMelodyForCausalLM")(section)
    for layer in each_module(decoder):
        if "self_attn" in layer.children:  # of the prompts too, whose length no config says
            why = "texts and melody stand before its tokens, as many as are given"
            layer.keeps = (Unknown(why),)
    wanted, notes = section.dim("hidden_size", default=1024), c.dim("num_chroma", default=12)
    seen = width_of(texts, encoder, last=True)
    return Module(
        "MusicgenMelodyForConditionalGeneration",
        text_encoder=encoder,
        audio_encoder=auto_model(c.section("audio_encoder"), default_type="encodec"),
        decoder=decoder,
        enc_to_dec_proj=linear_projector(seen, wanted) if seen != wanted else None,
        audio_enc_to_dec_proj=linear_projector(notes, wanted) if notes != wanted else None,
    )


register_part(
    "musicgen_melody", "MusicgenMelodyForConditionalGeneration", conditional_generation, "audio"
)
