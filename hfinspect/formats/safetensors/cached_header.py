"""Parsed headers as bytes, for a cache: folded as in memory, so that who has them parses nothing.

A text of JSON (kinds, metadata, what came up while parsing), then the numbers of each tensor as
arrays. The bytes come from a disk that others may write to: they are read as carefully as the
header of a file, and what is judged of a header is judged again.
"""

from __future__ import annotations

import json
import struct
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from math import prod
from operator import and_, rshift
from typing import Any, Final, NamedTuple

from ...core.checkpoint import Finding
from ...core.nesting import loads
from ...core.stored_tensors import (
    NUMBER_BITS,
    StoredKind,
    StoredTensors,
    are_distinct,
    fold_names,
    numbers_of,
    width_of,
)
from .header import MAX_U64, Header

#: Another number for another form: what was kept in an older one is read again.
VERSION: Final = 1

_LENGTH = struct.Struct("<Q")
_CODES: Final = "BHIQ"
#: The largest number that is taken out of a name.
_MOST = 999_999
_SEVERITIES: Final = ("note", "warning", "error")
_LOW = (1 << NUMBER_BITS) - 1


class CachedHeader(NamedTuple):
    """A header, and the size of its file in bytes as it was when this was read; None if unknown."""

    header: Header
    size: int | None


class _BrokenError(Exception):
    """Bytes that ``pack_headers`` did not make."""


def pack_headers(headers: Iterable[CachedHeader]) -> bytes:
    """Some headers as bytes, for ``unpack_headers``."""
    entries = []
    arrays = []
    for header, size in headers:
        tensors = header.tensors
        parts = [tensors.kind_numbers, *tensors.keys]
        if tensors.own_offsets is not None:
            parts.append(tensors.own_offsets)
        packed = [array(_code(part), part) for part in parts]
        entries.append(
            {
                "file": header.file,
                "size": size,
                "start": header.data_start,
                "metadata": dict(header.metadata),
                "findings": [finding.to_dict() for finding in header.findings],
                "skipped": header.skipped,
                "kinds": [[*kind[:3], kind.nbytes] for kind in tensors.kinds],
                "arrays": [[part.typecode, len(part)] for part in packed],
            }
        )
        arrays += packed
    text = json.dumps({"version": VERSION, "order": sys.byteorder, "headers": entries}).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *(part.tobytes() for part in arrays)])


def _code(numbers: Sequence[int]) -> str:
    """The smallest type that holds all of them."""
    most = max(numbers, default=0)
    return next(code for code in _CODES if most < 1 << 8 * array(code).itemsize)


def unpack_headers(data: bytes) -> list[CachedHeader] | None:
    """What ``pack_headers`` made; None of anything else."""
    try:
        return list(_headers(data))
    except (_BrokenError, ValueError, TypeError, LookupError, ArithmeticError):
        return None
    except struct.error:
        return None


def _headers(data: bytes) -> Iterator[CachedHeader]:
    [length] = _LENGTH.unpack_from(data)
    at = _LENGTH.size + length
    text = data[_LENGTH.size : at]
    _need(len(text) == length)
    content = loads(text)
    _need(content["version"] == VERSION and content["order"] == sys.byteorder)
    for one in content["headers"]:
        arrays = []
        for code, count in one["arrays"]:
            _need(code in _CODES and len(code) == 1 and type(count) is int and count >= 0)
            part = array(code)
            end = at + count * part.itemsize
            _need(end <= len(data))
            part.frombytes(data[at:end])
            arrays.append(part)
            at = end
        yield _header(one, arrays)
    _need(at == len(data))


def _need(holds: bool) -> None:
    if not holds:
        raise _BrokenError


def _header(entry: Mapping[str, Any], arrays: Sequence[array[int]]) -> CachedHeader:
    start = entry["start"]
    skipped = entry["skipped"]
    metadata = entry["metadata"]
    file = entry["file"]
    size = entry["size"]
    _need(type(file) is str and (size is None or (type(size) is int and size >= 0)))
    _need(type(start) is int and start >= 0 and type(skipped) is int and skipped >= 0)
    _need(isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values()))
    kinds = [_kind(*kind) for kind in entry["kinds"]]
    kind_numbers = arrays[0]
    keys = arrays[1 : 1 + len(kinds)]
    more = arrays[1 + len(kinds) :]
    _need(len(keys) == len(kinds) and len(more) <= 1 and len(set(kinds)) == len(kinds))
    _need(Counter(kind_numbers) == dict(enumerate(map(len, keys))) and all(keys))
    for kind, keys_of_kind in zip(kinds, keys, strict=True):
        _check_names(kind.pattern, keys_of_kind)
    _need(are_distinct((kind.pattern, numbers) for kind, numbers in zip(kinds, keys, strict=True)))
    _need(not more or len(more[0]) == len(kind_numbers))
    tensors = StoredTensors(kinds, kind_numbers, keys, start, more[0] if more else None)
    findings = tuple(Finding(**_strings(finding)) for finding in entry["findings"])
    return CachedHeader(Header(file, tensors, start, metadata, findings, skipped), size)


def _kind(pattern: str, dtype: str, shape: Sequence[int], nbytes: int) -> StoredKind:
    _need(type(pattern) is str and type(dtype) is str and type(nbytes) is int)
    _need(-MAX_U64 <= nbytes <= MAX_U64 and isinstance(shape, list))
    _need(all(type(size) is int and 0 <= size <= MAX_U64 for size in shape))
    return StoredKind(pattern, dtype, tuple(shape), prod(shape), nbytes)


def _check_names(pattern: str, keys: Sequence[int]) -> None:
    """The names are those that fold to just this: one name has one spelling."""
    width = width_of(pattern)
    _need(max(keys) >> NUMBER_BITS * width == 0)
    for at in range(width):
        shifted = map(rshift, keys, repeat(NUMBER_BITS * at))
        _need(max(map(and_, shifted, repeat(_LOW))) <= _MOST)
    name = pattern % numbers_of(keys[0], width)
    _need(fold_names([name]) == ([pattern], [keys[0]]))


def _strings(finding: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: finding[name] for name in ("rule", "text", "file", "tensor", "severity")}
    _need(all(value is None or type(value) is str for value in fields.values()))
    _need(None not in (fields["rule"], fields["text"]) and fields["severity"] in _SEVERITIES)
    return fields
