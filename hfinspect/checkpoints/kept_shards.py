"""Headers that were parsed before: taken from a cache, and given to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ..core.checkpoint import Shard
from ..core.turns import turn
from ..errors import HfinspectError
from ..formats.safetensors.header import Header
from ..formats.safetensors.kept_header import KeptHeader, pack_headers, unpack_headers
from ..formats.safetensors.safetensors import judge_parsed
from ..formats.strict_json import collector_paused
from ..sources.source import HEADER, FileEntry, Keeper, Source
from .file_bytes import SourceReader

#: What is made of the answer that has the headers of all shards.
_ALL: Final = "headers of its shards"


class KeptShard(NamedTuple):
    """A shard that was parsed before, the size of its file in bytes if it is known, and the error
    for which it is refused."""

    shard: Shard
    size: int | None
    error: HfinspectError | None


def kept_shard(source: Source, keeper: Keeper, path: str) -> KeptShard | None:
    """A shard as it was parsed before; None where it was not, or its file has another size now."""
    packed = keeper.kept(path, HEADER)
    if packed is None:
        return None
    with turn(), collector_paused():
        found = unpack_headers(packed)
        if found is None or len(found) != 1:
            return None
        entry = source.list_files().get(path)
        known = _same_size(found[0], entry)
        if known is None:
            return None
        shard, error = judge_parsed(_named(known.header, path), known.size)
    return KeptShard(shard, known.size, error)


def keeping(keeper: Keeper, reader: SourceReader) -> Callable[[Header], None]:
    """What keeps the header of the file that is read."""

    def keep(header: Header) -> None:
        keeper.keep(reader.path, HEADER, pack_headers([KeptHeader(header, reader.size)]))

    return keep


def are_kept(keeper: Keeper, index: str) -> bool:
    """Whether there is something of ``kept_headers``."""
    return keeper.kept(index, _ALL, of_commit=True) is not None


def kept_headers(
    keeper: Keeper, index: str, files: Mapping[str, FileEntry]
) -> dict[str, Header] | None:
    """The headers of all shards of an index as they were parsed before, by path; None where they
    were not, or a shard has another size now."""
    packed = keeper.kept(index, _ALL, of_commit=True)
    if packed is None:
        return None
    with collector_paused():
        found = unpack_headers(packed)
    if not found or any(_same_size(one, files.get(one.header.file)) is None for one in found):
        return None
    return {one.header.file: one.header for one in found}


def keep_headers(keeper: Keeper, index: str, headers: Sequence[KeptHeader]) -> None:
    """The inverse."""
    keeper.keep(index, _ALL, pack_headers(headers), of_commit=True)


def _same_size(one: KeptHeader, entry: FileEntry | None) -> KeptHeader | None:
    """The header, with the size of its file as far as it is known; None where that has changed."""
    if entry is None or (None not in (entry.size, one.size) and entry.size != one.size):
        return None
    return one._replace(size=one.size if entry.size is None else entry.size)


def _named(header: Header, path: str) -> Header:
    """The header as that of ``path``: it is kept by content, whatever the file was called."""
    if header.file == path:
        return header
    findings = tuple(replace(finding, file=path) for finding in header.findings)
    return replace(header, file=path, findings=findings)
