"""MusicGen Melody (Copet et al. 2023). Source: transformers/models/musicgen_melody.

As musicgen.py, but texts and melody stand before the tokens instead of being attended to: no
cross-attention, and a second projection, from the 12 notes of a chromagram.
"""

from collections.abc import Iterator

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed, with_defaults
from ..layers.multimodal import linear_projector
from ..trees.catalog import auto_class, auto_model, register, register_part
from ..trees.keeps import Unknown
from ..trees.modules import Module, each_module
from . import musicgen
from .encoder_decoder import width_of


def _melody(root: Module) -> Module:
    """A decoder of MusicGen without what attends to an encoder."""
    for layer in _layers(root):
        layer.children.pop("encoder_attn", None)
        layer.children.pop("encoder_attn_layer_norm", None)
    return renamed(root, "Musicgen", "MusicgenMelody")


def _layers(root: Module) -> Iterator[Module]:
    return (layer for layer in each_module(root) if "self_attn" in layer.children)


def _prompted(decoder: Module) -> Module:
    """The whole model's decoder keeps its prompts too, and the config does not say their length."""
    for layer in _layers(decoder):
        layer.keeps = (Unknown("texts and melody stand before its tokens, as many as are given"),)
    return decoder


def decoder_model(c: ModelConfig) -> Module:
    return _melody(musicgen.decoder_model(c))


def causal_lm(c: ModelConfig) -> Module:
    return _melody(musicgen.causal_lm(c))


def _projection(inputs: int, outputs: Dim) -> Module | None:
    return None if inputs == outputs else linear_projector(inputs, outputs)


def conditional_generation(c: ModelConfig) -> Module:
    texts = c.section("text_encoder")
    speaker = c.section("decoder").with_defaults(**musicgen.DEFAULTS)
    encoder = auto_class(texts, "EncoderModel", default_type="t5")
    hidden = speaker.dim("hidden_size")
    return Module(
        "MusicgenMelodyForConditionalGeneration",
        text_encoder=encoder,
        audio_encoder=auto_model(c.section("audio_encoder"), default_type="encodec"),
        decoder=_prompted(causal_lm(speaker)),
        enc_to_dec_proj=_projection(width_of(texts, encoder, last=True), hidden),
        audio_enc_to_dec_proj=_projection(c.dim("num_chroma", default=12), hidden),
    )


register_part(
    "musicgen_melody", "MusicgenMelodyForConditionalGeneration", conditional_generation, "audio"
)
_DECODER = {"MusicgenMelodyForCausalLM": causal_lm, "MusicgenMelodyModel": decoder_model}
_CLASSES = with_defaults(musicgen.DEFAULTS, _DECODER)
register("musicgen_melody_decoder", _CLASSES, base_prefix="model", category="audio")
