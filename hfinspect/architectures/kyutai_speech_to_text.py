"""Kyutai's speech to text (2025). Source of shapes: transformers/models/kyutai_speech_to_text.

Moshi's decoder over one table of words and of all codebooks, and the Mimi codec.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.heads import to_words
from ..layers.windows import windows
from ..trees.catalog import auto_model, register_pair
from ..trees.modules import Embedding, Module
from .moshi import MOSHI

_KYUTAI = MOSHI.like(
    "KyutaiSpeechToText", vocab_size=4001, hidden_size=2048, intermediate_size=11264,
    num_hidden_layers=48, windows=lambda c: windows(c, 375),
)  # fmt: skip


def _rows(c: ModelConfig) -> Dim:
    codes = c.dim("codebook_vocab_size", default=2049)
    return _KYUTAI.size(c, "vocab_size") + c.count("num_codebooks", default=32) * codes + 1


def model(c: ModelConfig) -> Module:
    found, table = _KYUTAI.model(c), Embedding(_rows(c), _KYUTAI.width(c))
    found.children["embed_tokens"] = Module("KyutaiSpeechToTextEmbeddings", embed_tokens=table)
    return found


def generation(c: ModelConfig) -> Module:
    tied = "model.embed_tokens.embed_tokens.weight" if c.tied(default=False) else None
    vocab = _rows(c) if tied else _KYUTAI.size(c, "vocab_size")
    return Module(
        "KyutaiSpeechToTextForConditionalGeneration",
        model=model(c),
        lm_head=to_words(_KYUTAI.width(c), vocab, tied),
        codec_model=auto_model(c.section("codec_config"), default_type="mimi", part="audio"),
    )


register_pair("kyutai_speech_to_text", "KyutaiSpeechToText", generation, model, "audio")
