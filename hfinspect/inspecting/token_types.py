"""Of a GGUF file's tokens how many are of each type, an array of a number for each token, and the
ids of those that it lists as added, an array of texts that older files have."""

import struct
from collections import Counter
from collections.abc import Mapping
from typing import Final

from ..core.checkpoint import Shard
from ..errors import HfinspectError
from ..formats.gguf.key_values import ADDED_KEY, TOKENS_KEY, TYPES_KEY
from ..sources.source import Source

#: Tokens of one file; the largest known vocabularies have 262,144.
MAX_TYPES: Final = 2_000_000
#: Bytes of an array of texts; those vocabularies have some 5 MB.
MAX_TEXT_BYTES: Final = 64 * 1024 * 1024
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
    at = value.get("at")
    length = value.get("length")
    if type(at) is not int or type(length) is not int or not 0 < length <= MAX_TYPES:
        return ()
    try:
        data = source.read(shard.file, at, at + 4 * length)
    except HfinspectError:
        return ()
    order = ">" if shard.metadata.get("GGUF.byte_order") == "big" else "<"
    return struct.unpack(f"{order}{length}i", data) if len(data) == 4 * length else ()


def added_ids_of(shard: Shard, source: Source | None) -> Mapping[str, int | None]:
    """Added token -> its place in the list of tokens, from which llama.cpp takes all ids; None
    where that lacks it. Long arrays are a read of ``source`` each; empty where one is not read."""
    added = _texts(shard, source, ADDED_KEY)
    tokens = _texts(shard, source, TOKENS_KEY) if added else None
    if not added or tokens is None:
        return {}
    unique = dict.fromkeys(added)
    ids = {token: number for number, token in reversed(list(enumerate(tokens))) if token in unique}
    return {token: ids.get(token) for token in unique}


def _texts(shard: Shard, source: Source | None, key: str) -> list[str] | None:
    value = shard.metadata.get(key)
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    if source is None or not isinstance(value, Mapping) or value.get("array") != "string":
        return None
    at = value.get("at")
    end = value.get("end")
    length = value.get("length")
    if not (type(at) is type(end) is type(length) is int and end - at <= MAX_TEXT_BYTES):
        return None
    try:
        data = source.read(shard.file, at, end)
    except HfinspectError:
        return None
    return texts_of(data, length, ">" if shard.metadata.get("GGUF.byte_order") == "big" else "<")


def texts_of(data: bytes, count: int, order: str) -> list[str] | None:
    """So many texts, each behind its length; None where the bytes are not just these."""
    texts: list[str] = []
    at = 0
    length = struct.Struct(f"{order}Q")
    while len(texts) < count and at + 8 <= len(data):
        start = at + 8
        at = start + length.unpack_from(data, at)[0]
        texts.append(data[start:at].decode("utf-8", "backslashreplace"))
    return texts if len(texts) == count and at == len(data) else None
