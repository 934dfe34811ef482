"""What a GGUF file says of its model by key-values, and what it leaves to its readers.

Source of the keys: gguf-py/gguf/constants.py of llama.cpp.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ...core.checkpoint import Shard
from ...core.model_facts import ModelFacts
from ...formats.gguf.gguf import describe
from ..key_facts import size_of

#: Field -> what follows the architecture in its key.
_KEYS: Mapping[str, str] = {
    "layers": "block_count",
    "decoder_layers": "decoder_block_count",
    "width": "embedding_length",
    "heads": "attention.head_count",
    "kv_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "vocabulary": "vocab_size",
    "context": "context_length",
    "experts": "expert_count",
    "experts_per_token": "expert_used_count",
    "image_size": "vision.image_size",
    "patch_size": "vision.patch_size",
    "vision_layers": "vision.block_count",
    "vision_width": "vision.embedding_length",
    "vision_heads": "vision.attention.head_count",
    "mel_bins": "audio.num_mel_bins",
    "audio_layers": "audio.block_count",
    "audio_width": "audio.embedding_length",
    "audio_heads": "audio.attention.head_count",
}

_TOKENS = "tokenizer.ggml.tokens"


def gguf_facts(metadata: Mapping[str, object]) -> ModelFacts:
    """What the key-values say. A number that differs by layer is no fact of the whole."""
    architecture = metadata.get("general.architecture")
    values: dict[str, int] = {}
    keys: dict[str, str] = {}
    for name, key in _KEYS.items():
        number = size_of(metadata.get(f"{architecture}.{key}"))
        if number is not None:
            values[name] = number
            keys[name] = f"{architecture}.{key}"
    tokens = _length(metadata.get(_TOKENS))
    if "vocabulary" not in values and tokens is not None:
        values["vocabulary"] = tokens
        keys["vocabulary"] = _TOKENS
    if "decoder_layers" in values and "layers" in values:  # the encoder's, in an encoder-decoder
        values["encoder_layers"] = values.pop("layers")
        keys["encoder_layers"] = keys.pop("layers")
    ordered = {name: keys[name] for name in ModelFacts.__dataclass_fields__ if name in keys}
    return ModelFacts(**values, keys=ordered)  # type: ignore[arg-type]


def _length(value: object) -> int | None:
    """Items of an array, kept in full or in part."""
    if isinstance(value, list):
        return len(value) or None
    return size_of(value.get("length")) if isinstance(value, Mapping) else None


#: Architectures of llama.cpp without a head (``llm_arch``): encoders, and codecs.
HEADLESS: Final = frozenset(
    """bert nomic-bert nomic-bert-moe jina-bert-v2 jina-bert-v3 modern-bert neo-bert eurobert
    t5encoder gemma-embedding llama-embed clip wavtokenizer-dec""".split()
)

_TABLE = "token_embd.weight"
_HEAD = "output.weight"


def model_type_of(metadata: Mapping[str, object]) -> str | None:
    """``general.architecture``: llama.cpp's name, mostly that of transformers."""
    return describe(metadata).architecture


def unstored_head(shards: Sequence[Shard]) -> dict[str, str]:
    """``output.weight`` -> ``token_embd.weight`` where the first is left out and the second used.

    That is llama.cpp's rule for every decoder. A pooling type or classifier shows that there is no
    head at all.
    """
    metadata = shards[0].metadata if shards else {}
    facts = describe(metadata)
    names = {tensor.name for shard in shards for tensor in shard.tensors}
    pooled = f"{facts.architecture}.pooling_type" in metadata
    if facts.type != "model" or pooled or facts.architecture in (None, *HEADLESS):
        return {}
    if _TABLE not in names or _HEAD in names or any(name.startswith("cls.") for name in names):
        return {}
    return {_HEAD: _TABLE}
