"""Kyutai's speech to text (2025): Moshi's decoder over one table of words and of all codebooks, and
the Mimi codec (transformers/models/kyutai_speech_to_text)."""

from ..layers.heads import to_words
from ..layers.windows import windows
from ..trees import Dim, Embedding, ModelConfig, Module, auto_model, register_pair
from .moshi import MOSHI

_NAME = "KyutaiSpeechToText"
_KYUTAI = MOSHI.like(
    _NAME,
    vocab_size=4001,
    hidden_size=2048,
    intermediate_size=11264,
    num_hidden_layers=48,
    windows=lambda c: windows(c, 375),
)


def _rows(c: ModelConfig) -> Dim:
    codes = c.dim("codebook_vocab_size", default=2049)
    return _KYUTAI.size(c, "vocab_size") + c.count("num_codebooks", default=32) * codes + 1


def model(c: ModelConfig) -> Module:
    table = Embedding(_rows(c), _KYUTAI.width(c))
    return _KYUTAI.model(c).adding(embed_tokens=Module(f"{_NAME}Embeddings", embed_tokens=table))


def generation(c: ModelConfig) -> Module:
    tied = "model.embed_tokens.embed_tokens.weight" if c.tied(default=False) else None
    vocab = _rows(c) if tied else _KYUTAI.size(c, "vocab_size")
    head = to_words(_KYUTAI.width(c), vocab, tied)
    codec = auto_model(c.section("codec_config"), default_type="mimi", part="audio")
    name = f"{_NAME}ForConditionalGeneration"
    return Module(name, model=model(c), lm_head=head, codec_model=codec)


register_pair("kyutai_speech_to_text", _NAME, generation, model, "audio")
