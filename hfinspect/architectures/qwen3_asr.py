"""Qwen3-ASR (Qwen team 2026). Source: transformers/models/qwen3_asr/modeling_qwen3_asr.py. Released
repos (Qwen/Qwen3-ASR-0.6B) have a ``thinker_config`` and the names of Qwen3-Omni's thinker. Source:
modeling_qwen3_asr.py of the package qwen-asr; vLLM's qwen3_asr.py reads the same names."""

from ..layers.blocks import activation
from ..layers.composing import defaulted, renamed
from ..layers.heads import labelled, to_words
from ..layers.multimodal import decoder, text_width, two_linears, worded
from ..layers.whisper_encoder import width
from ..trees import ModelConfig, Module, builder, config_defaults, register, register_part

_NAME = "Qwen3ASR"
#: What Qwen3ASRConfig makes of an absent text_config.
_TEXT = config_defaults("qwen3_asr")
#: Where its encoder's own defaults differ.
_AUDIO = config_defaults("qwen3_asr.audio")


def _tower(c: ModelConfig) -> Module:
    built = builder("Qwen3OmniMoeAudioEncoder")(c.with_defaults(**_AUDIO))
    return renamed(built, "Qwen3OmniMoe", _NAME)


def audio_model(c: ModelConfig) -> Module:
    return _tower(c).without("proj1", "proj2").called(f"{_NAME}Encoder")


def model(c: ModelConfig) -> Module:
    audio = c.section("audio_config").with_defaults(**_AUDIO)
    d = width(audio)
    outputs = audio.dim("output_dim", default=3584)
    act = activation(audio.text("activation_function", default="gelu"))
    name = "MultiModalProjector"
    return Module(
        f"{_NAME}Model",
        audio_tower=audio_model(audio),
        language_model=decoder(c, "qwen3", defaults=_TEXT).base,
        multi_modal_projector=two_linears(f"{_NAME}{name}", c, d, d, outputs, act=act),
    )


def generation(c: ModelConfig) -> Module:
    if not c.has("thinker_config"):
        return worded(_WHOLE, model, tied=True)(c)
    thinker = c.section("thinker_config")
    section = thinker.section("text_config").with_defaults(**_TEXT).values
    values = {"text_config": {**section, "model_type": "qwen3"}}
    text = decoder(ModelConfig(values, thinker.path), "qwen3")
    tied = thinker.flag("tie_word_embeddings", default=text.tied)
    to = "thinker.model.embed_tokens.weight"
    head = to_words(text.hidden, text.vocab, to if tied else None)
    tower = _tower(thinker.section("audio_config"))
    name = f"{_NAME}ThinkerForConditionalGeneration"
    return Module(_WHOLE, thinker=Module(name, audio_tower=tower, model=text.base, lm_head=head))


_WHOLE = f"{_NAME}ForConditionalGeneration"
_LABELS = f"{_NAME}ForTokenClassification"
labels = labelled(_LABELS, model, hidden=lambda c: text_width(model(c)))
labels = defaulted({"token_classification_bias": False}, labels)
_CLASSES = {_WHOLE: generation, f"{_NAME}Model": model, _LABELS: labels}
register("qwen3_asr", _CLASSES, base_prefix="model", category="multimodal")
register_part("qwen3_asr_encoder", f"{_NAME}Encoder", audio_model, "audio")
