"""Whisper (Radford et al. 2022). Source of shapes: transformers/models/whisper."""

from collections.abc import Mapping
from functools import partial

from ..core.config import ModelConfig
from ..layers import seq2seq, whisper_encoder
from ..layers.composing import Part, composed, with_defaults
from ..layers.speech_heads import SEQUENCE
from ..trees.catalog import Builder, register
from ..trees.modules import Module

STYLE = seq2seq.Seq2Seq(
    "Whisper", positions="PositionalEmbedding", offset=0, final_norm=True, vocab=51865, width=384,
    layers=(4, 4), inner=(1536, 1536), heads=(6, 6), key_bias=False, lengths=(1500, 448),
    length_keys=("max_source_positions", "max_target_positions"),
)  # fmt: skip


encoder = partial(whisper_encoder.encoder, "Whisper")


def model(c: ModelConfig) -> Module:
    return Module("WhisperModel", encoder=encoder(c), decoder=seq2seq.stack(c, STYLE, 1))


def proj_out(c: ModelConfig) -> Module:
    return seq2seq.lm_head(c, STYLE, "model.decoder.embed_tokens.weight")


_CLASSES: dict[str, Builder | Mapping[str, Part]] = {
    "WhisperForConditionalGeneration": {"model": model, "proj_out": proj_out},
    "WhisperModel": model,
    "WhisperForCausalLM": {
        "model": lambda c: Module("WhisperDecoderWrapper", decoder=seq2seq.stack(c, STYLE, 1)),
        "proj_out": proj_out,
    },
    "WhisperForAudioClassification": {"encoder": encoder, **SEQUENCE},
}
_DEFAULTS = {
    "classifier_proj_size": 256, "d_model": 384, "encoder_attention_heads": 6,
    "encoder_ffn_dim": 1536, "encoder_layers": 4, "num_mel_bins": 80,
}  # fmt: skip
register(
    "whisper", with_defaults(_DEFAULTS, composed(_CLASSES)), base_prefix="model", category="audio"
)
