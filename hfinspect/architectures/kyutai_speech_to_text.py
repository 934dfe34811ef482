"""Kyutai's speech to text (2025). Source of shapes: transformers/models/kyutai_speech_to_text.

Moshi's decoder (moshi.py) over one table of words and of all codebooks, and the Mimi codec.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed, with_defaults
from ..layers.heads import to_words
from ..layers.windows import windows
from ..trees.catalog import auto_model, register
from ..trees.modules import Embedding, Layers, Module
from .moshi import layer, norm

_NAME = "KyutaiSpeechToText"
_DEFAULTS = {
    "hidden_size": 2048, "vocab_size": 4001, "num_hidden_layers": 48, "num_attention_heads": 32,
    "ffn_dim": 11264, "num_codebooks": 32, "codebook_vocab_size": 2049,
}  # fmt: skip


def _rows(c: ModelConfig) -> Dim:
    return c.dim("vocab_size") + c.count("num_codebooks") * c.dim("codebook_vocab_size") + 1


def model(c: ModelConfig) -> Module:
    table = Embedding(_rows(c), c.dim("hidden_size"))
    built = Module(
        "MoshiModel",
        embed_tokens=Module("MoshiEmbeddings", embed_tokens=table),
        layers=Layers.of(c.count("num_hidden_layers"), layer(c), windows=windows(c, 375)),
        norm=norm(c),
    )
    return renamed(built, "Moshi", _NAME)


def generation(c: ModelConfig) -> Module:
    tied = "model.embed_tokens.embed_tokens.weight" if c.tied(default=False) else None
    return Module(
        f"{_NAME}ForConditionalGeneration",
        model=model(c),
        lm_head=to_words(c.dim("hidden_size"), _rows(c) if tied else c.dim("vocab_size"), tied),
        codec_model=auto_model(c.section("codec_config"), default_type="mimi", part="audio"),
    )


register(
    "kyutai_speech_to_text",
    with_defaults(
        _DEFAULTS, {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": model}
    ),
    base_prefix="model",
    category="audio",
)
