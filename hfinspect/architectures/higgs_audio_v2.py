"""Higgs Audio v2 (Boson AI 2025; transformers/models/higgs_audio_v2). A Llama with a second MLP and
second norms for the tokens of sound, whose codebooks share one table and head."""

from ..layers.composing import composed
from ..layers.decoders import Decoder, pre_norm
from ..layers.heads import to_words
from ..trees import Dim, Embedding, ModelConfig, Module, config_defaults, register
from .llama import LLAMA


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, kind)
    names = ("mlp", "input_layernorm", "post_attention_layernorm")
    return block.adding(**{f"audio_{name}": block[name] for name in names})


_HIGGS = LLAMA.like(
    "HiggsAudioV2", **config_defaults("higgs_audio_v2"), null_head_dim=True, layer=_layer
)


def _codes(c: ModelConfig) -> Dim:
    return c.count("num_codebooks", default=8) * c.dim("codebook_size", default=1024)


def model(c: ModelConfig) -> Module:
    table = Embedding(_codes(c), _HIGGS.width(c))
    sounds = Module("HiggsAudioV2Embeddings", embed_audio_tokens=table)
    return _HIGGS.model(c).adding(embed_audio_tokens=sounds)


_WHOLE = "HiggsAudioV2ForConditionalGeneration"
_FORM = {"model": model, "audio_lm_head": lambda c: to_words(_HIGGS.width(c), _codes(c))}
_CLASSES = composed({_WHOLE: _FORM, "HiggsAudioV2Model": model})
register("higgs_audio_v2", _CLASSES, base=_WHOLE, base_prefix="model", category="audio")
