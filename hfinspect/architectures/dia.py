"""Dia (Nari Labs 2025): speech from text, both sides traces (transformers/models/dia)."""

from ..layers.composing import composed
from ..layers.heads import to_words
from ..layers.multimodal import within
from ..trees import ModelConfig, Module, register_pair


def _head(c: ModelConfig) -> Module:
    inner = c.section("decoder_config")
    sounds = inner.dim("vocab_size", default=1028) * inner.dim("num_channels", default=9)
    return to_words(inner.dim("hidden_size", default=2048), sounds)


_SIDES = {f"{x}coder": within(f"{x}coder_config", f"Dia{x.title()}coder") for x in ("en", "de")}
_WHOLE = "DiaForConditionalGeneration"
_MODEL = composed({"DiaModel": _SIDES})["DiaModel"]
_GENERATION = composed({_WHOLE: {"model": _MODEL, "logits_dense": _head}})[_WHOLE]
register_pair("dia", "Dia", _GENERATION, _MODEL, "encoder-decoder")
