"""LED (Beltagy et al. 2020): BART whose encoder attends as Longformer does, with a second set of
projections for the tokens that see all (transformers/models/led)."""

from ..layers import seq2seq
from ..trees import Component, Linear, ModelConfig, Module
from .bart import BART


def _attention(c: ModelConfig, s: seq2seq.Seq2Seq, side: int, _cross: bool) -> Module:
    if side:
        return seq2seq.attention(c, s, side, class_name="LEDDecoderAttention")
    d = seq2seq.width(c, s)
    kinds = ("query", "key", "value")
    parts = {f"{kind}{end}": Linear(d, d, kind=kind) for end in ("", "_global") for kind in kinds}
    longformer = Module("LEDEncoderSelfAttention", parts)
    out = Linear(d, d, kind="output")
    at = Component.ATTENTION
    return Module("LEDEncoderAttention", longformer_self_attn=longformer, output=out, component=at)


BART.like(
    "LED",
    words="",
    offset=0,
    prefix="led",
    lengths=(16384, 1024),
    labels=2,
    attends=_attention,
    length_keys=("max_encoder_position_embeddings", "max_decoder_position_embeddings"),
).register("led", *seq2seq.GENERATION, "ForQuestionAnswering")
