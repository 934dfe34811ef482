"""Whisper (Radford et al. 2022). Source of shapes: transformers/models/whisper."""

from collections.abc import Mapping
from functools import partial

from ..layers import seq2seq, whisper_encoder
from ..layers.composing import FormPart, composed, with_defaults
from ..layers.speech_heads import SEQUENCE
from ..trees import config_defaults
from ..trees.catalog import Builder, register

STYLE = seq2seq.Seq2Seq(
    "Whisper",
    positions="PositionalEmbedding",
    offset=0,
    final_norm=True,
    vocab=51865,
    width=384,
    layers=(4, 4),
    inner=(1536, 1536),
    heads=(6, 6),
    key_bias=False,
    lengths=(1500, 448),
    length_keys=("max_source_positions", "max_target_positions"),
)
_encoder = partial(whisper_encoder.encoder, "Whisper")
_decoder = partial(seq2seq.stack, s=STYLE, side=1)
_words = partial(seq2seq.lm_head, s=STYLE, table="model.decoder.embed_tokens.weight")
_SIDES = {"encoder": _encoder, "decoder": _decoder}
_PARTS = composed({"WhisperModel": _SIDES, "WhisperDecoderWrapper": {"decoder": _decoder}})
_MODEL, _WRAPPER = _PARTS.values()
_CLASSES: dict[str, Builder | Mapping[str, FormPart]] = {
    "WhisperForConditionalGeneration": {"model": _MODEL, "proj_out": _words},
    "WhisperModel": _MODEL,
    "WhisperForCausalLM": {"model": _WRAPPER, "proj_out": _words},
    "WhisperForAudioClassification": {"encoder": _encoder, **SEQUENCE},
}
_COMPLETED = with_defaults(config_defaults("whisper"), composed(_CLASSES))
register("whisper", _COMPLETED, base_prefix="model", category="audio")
