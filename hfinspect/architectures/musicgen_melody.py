"""MusicGen Melody (Copet et al. 2023). Source: transformers/models/musicgen_melody. Texts and
melody, of 12 notes, stand before the tokens instead of being attended to: no cross-attention."""

from ..layers.multimodal import linear_projector
from ..trees import ModelConfig, Module, each_module, register_part
from ..trees.cache_layout import Unknown
from .musicgen import joined


def generation(c: ModelConfig) -> Module:
    built = joined(c, "MusicgenMelody")
    notes = c.dim("num_chroma", default=12)
    for layer in each_module(built.inside("decoder")):
        if "self_attn" in layer.children:  # of the prompts too, whose length no config says
            why = "texts and melody stand before its tokens, as many as are given"
            layer.cache = (Unknown(why),)
    width = c.section("decoder").dim("hidden_size", default=1024)
    projected = linear_projector(notes, width) if notes != width else None
    return built.adding(audio_enc_to_dec_proj=projected)


register_part("musicgen_melody", "MusicgenMelodyForConditionalGeneration", generation, "audio")
