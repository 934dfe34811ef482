"""What a GGUF file leaves to its readers: the model's type, and a head that is the embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.checkpoint import Shard
from ...formats.gguf.gguf import describe

#: Architectures of llama.cpp without a head (``llm_arch``): encoders, and codecs.
_HEADLESS = frozenset(
    """bert nomic-bert nomic-bert-moe jina-bert-v2 jina-bert-v3 modern-bert neo-bert eurobert
    t5encoder gemma-embedding llama-embed clip wavtokenizer-dec""".split()
)

_TABLE, _HEAD = "token_embd.weight", "output.weight"


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
    if facts.type != "model" or pooled or facts.architecture in (None, *_HEADLESS):
        return {}
    if _TABLE not in names or _HEAD in names or any(name.startswith("cls.") for name in names):
        return {}
    return {_HEAD: _TABLE}
