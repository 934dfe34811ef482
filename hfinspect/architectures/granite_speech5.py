"""Granite Speech 5 (IBM 2026). Source of shapes: transformers/models/granite_speech5. A Conformer
(a trace) that is fed its own guess of the words halfway; the head for CTC makes that guess."""

from ..layers.composing import tied_to
from ..layers.heads import to_words
from ..trees import ModelConfig, Module, auto_model, register_part


def ctc(c: ModelConfig) -> Module:
    inner = c.section("encoder_config")
    tied = c.tied()
    words = (inner if tied else c).dim("vocab_size", default=16384)
    head = to_words(inner.dim("hidden_size", default=1024), words, bias=True)
    sound = auto_model(inner, default_type="granite_speech5_encoder")
    parts = {"encoder": sound, "ctc_head": tied_to(head, "encoder.out") if tied else head}
    return Module("GraniteSpeech5ForCTC", parts, part="audio")


register_part("granite_speech5_ctc", "GraniteSpeech5ForCTC", ctc, "audio")
