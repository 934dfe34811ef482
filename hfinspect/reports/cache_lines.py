"""What a cache costs, in one line: the same words in ``inspect``, ``memory`` and ``explain``."""

from ..core.cache_size import (
    AT_ONCE,
    ENCODES,
    NO_CONFIG,
    NO_KEY_VALUES,
    SEVERAL,
    UNCATALOGUED,
    CacheSize,
)
from ..core.text import byte_size

#: A first screen says nothing of a cache that a model has not, or of a model that is not known.
_NO_LINE = frozenset({ENCODES, AT_ONCE, SEVERAL, UNCATALOGUED, NO_CONFIG, NO_KEY_VALUES, ""})


def cost(cache: CacheSize) -> str:
    """``131 kB per token; 1.07 GB at 8,192 tokens (BF16, batch 1)``, windows and what does not grow
    named."""
    why = f"; {cache.assumed}" if cache.assumed else ""
    about = f"({cache.dtype}, batch {cache.batch}{why})"
    if not cache.per_token_first and not cache.encoder_tokens:
        in_all = f"; {byte_size(cache.nbytes)} in all" if cache.batch > 1 else ""
        return f"{per_token(cache)}{in_all} {about}"
    amount = f"{byte_size(cache.nbytes)} at {cache.tokens:,} tokens"
    return f"{per_token(cache)}; {amount} {about}"


def per_token(cache: CacheSize) -> str:
    """``73.7 kB per token, 36.9 kB past 127 tokens``; what does not grow per sequence."""
    if not cache.per_token_first and not cache.encoder_tokens:
        return f"{byte_size(cache.fixed)} per sequence of any length"
    parts = []
    if cache.per_token_first:
        parts.append(f"{byte_size(cache.per_token_first)} per token")
    if cache.knee is not None and cache.per_token_first != cache.per_token:
        parts.append(f"{byte_size(cache.per_token)} past {cache.knee:,} tokens")
    if cache.fixed:
        parts.append(f"{byte_size(cache.fixed)} per sequence{_encoded(cache)}")
    return ", ".join(parts)


def _encoded(cache: CacheSize) -> str:
    """Which tokens of the encoder a sequence's fixed bytes are for."""
    if cache.encoder_tokens is None:
        return ""
    return f" for {cache.encoder_tokens:,} of the encoder's"


def first_screen(cache: CacheSize | None, unknown: str) -> list[tuple[str, str]]:
    """The line of an inspection: none for a model that keeps nothing, the reason for a layout that
    no rule knows."""
    if cache is not None:
        return [("cache", cost(cache))]
    return [] if unknown in _NO_LINE else [("cache", f"unknown: {unknown}")]
