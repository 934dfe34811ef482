"""How many tokens of a GGUF file are of each type: an array of a number for each token."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from typing import Final

from ..core.checkpoint import Shard
from ..errors import HfinspectError
from ..formats.gguf.key_values import TYPES_KEY
from ..sources.source import Source

#: Tokens of one file; the largest known vocabularies have 262,144.
MAX_TYPES: Final = 2_000_000
#: llama.h: enum llama_token_type, the same numbers as SentencePiece's.
_TYPES: Final = ("undefined", "normal", "unknown", "control", "user_defined", "unused", "byte")


def token_types(shard: Shard, source: Source | None) -> Mapping[str, int]:
    """Type -> tokens, of a long array with one read of ``source``; empty where a number is no type,
    the array is none of them, or it cannot be read."""
    value = shard.metadata.get(TYPES_KEY)
    numbers = value if isinstance(value, list) else _long(shard, source, value)
    counts = Counter(numbers)
    if any(type(number) is not int or not 0 <= number < len(_TYPES) for number in counts):
        return {}
    return {_TYPES[number]: counts[number] for number in sorted(counts)}


def _long(shard: Shard, source: Source | None, value: object) -> tuple[int, ...]:
    if (
        source is None
        or not isinstance(value, Mapping)
        or value.get("array") not in ("int32", "uint32")
    ):
        return ()
    at, length = value.get("at"), value.get("length")
    if type(at) is not int or type(length) is not int or not 0 < length <= MAX_TYPES:
        return ()
    try:
        data = source.read(shard.file, at, at + 4 * length)
    except HfinspectError:
        return ()
    order = ">" if shard.metadata.get("GGUF.byte_order") == "big" else "<"
    return struct.unpack(f"{order}{length}i", data) if len(data) == 4 * length else ()
