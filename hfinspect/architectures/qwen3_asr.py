"""Qwen3-ASR (Qwen team 2026). Source: transformers/models/qwen3_asr/modeling_qwen3_asr.py.

Qwen3-Omni's encoder (qwen3_omni_moe.py), two linear layers, and a Qwen3 decoder.

The released repos (Qwen/Qwen3-ASR-0.6B) have a ``thinker_config``, and their files the names that
go with it, as in Qwen3-Omni's thinker: the two linear layers inside the encoder. Source:
modeling_qwen3_asr.py of the package qwen-asr; vLLM's qwen3_asr.py reads the same names.
"""

from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.composing import renamed
from ..layers.heads import classifier
from ..layers.multimodal import decoder, lm_head, projector, text_width, worded
from ..layers.whisper_encoder import width
from ..trees.catalog import builder, register, register_part
from ..trees.modules import Dropout, Linear, Module

#: What Qwen3ASRConfig makes of an absent text_config.
_TEXT = {
    "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
    "tie_word_embeddings": True,
}  # fmt: skip
#: Where its encoder's own defaults differ.
_AUDIO = {
    "d_model": 1024, "encoder_attention_heads": 16, "encoder_ffn_dim": 4096, "encoder_layers": 24,
}  # fmt: skip


def _tower(c: ModelConfig) -> Module:
    built = builder("Qwen3OmniMoeAudioEncoder")(c.with_defaults(**_AUDIO))
    return renamed(built, "Qwen3OmniMoe", "Qwen3ASR")


def audio_model(c: ModelConfig) -> Module:
    built = _tower(c)
    built.class_name = "Qwen3ASREncoder"
    for projected in ("proj1", "act", "proj2"):
        built.children.pop(projected, None)
    return built


def model(c: ModelConfig) -> Module:
    audio = c.section("audio_config").with_defaults(**_AUDIO)
    d = width(audio)
    return Module(
        "Qwen3ASRModel",
        audio_tower=audio_model(audio),
        language_model=decoder(c, "qwen3", defaults=_TEXT).base,
        multi_modal_projector=projector(
            "Qwen3ASRMultiModalProjector",
            linear_1=Linear(d, d),
            act=activation(audio.text("activation_function", default="gelu")),
            linear_2=Linear(d, audio.dim("output_dim", default=3584)),
        ),
    )


def _released(c: ModelConfig) -> Module:
    thinker = c.section("thinker_config")
    text = thinker.section("text_config").with_defaults(**_TEXT)
    found = decoder(
        ModelConfig({"text_config": {**text.values, "model_type": "qwen3"}}, thinker.path), "qwen3"
    )
    tied = thinker.flag("tie_word_embeddings", default=found.tied)
    return Module(
        "Qwen3ASRForConditionalGeneration",
        thinker=Module(
            "Qwen3ASRThinkerForConditionalGeneration",
            audio_tower=_tower(thinker.section("audio_config")),
            model=found.base,
            lm_head=lm_head(found, "thinker.model.embed_tokens.weight" if tied else None),
        ),
    )


_GENERATION = worded("Qwen3ASRForConditionalGeneration", model, tied=True)


def generation(c: ModelConfig) -> Module:
    return _released(c) if c.has("thinker_config") else _GENERATION(c)


def token_classification(c: ModelConfig) -> Module:
    bias, found = c.flag("token_classification_bias", default=False), model(c)
    score = classifier(text_width(found), c.num_labels, bias=bias)
    return Module("Qwen3ASRForTokenClassification", model=found, dropout=Dropout(0.1), score=score)


_CLASSES = {
    "Qwen3ASRForConditionalGeneration": generation,
    "Qwen3ASRModel": model,
    "Qwen3ASRForTokenClassification": token_classification,
}
register("qwen3_asr", _CLASSES, base_prefix="model", category="multimodal")
register_part("qwen3_asr_encoder", "Qwen3ASREncoder", audio_model, "audio")
