"""Headers that were parsed before: taken from a cache, and given to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ..core.checkpoint import Shard
from ..core.collector import collector_paused
from ..errors import HfinspectError
from ..formats.safetensors.cached_header import CachedHeader, pack_headers, unpack_headers
from ..formats.safetensors.header import Header
from ..formats.safetensors.safetensors import judge_parsed
from ..sources.source import HEADER, FileEntry, ParsedCache, Source
from .file_bytes import SourceReader

#: What is made of the answer that has the headers of all shards.
_ALL: Final = "headers of its shards"


class CachedShard(NamedTuple):
    """A shard that was parsed before, the size of its file in bytes if it is known, and the error
    for which it is refused."""

    shard: Shard
    size: int | None
    error: HfinspectError | None


def cached_shard(source: Source, parsed_cache: ParsedCache, path: str) -> CachedShard | None:
    """A shard as it was parsed before; None where it was not, or its file has another size now."""
    packed = parsed_cache.load_parsed(path, HEADER)
    if packed is None:
        return None
    with collector_paused():
        headers = unpack_headers(packed)
        if headers is None or len(headers) != 1:
            return None
        entry = source.list_files().get(path)
        known = _same_size(headers[0], entry)
        if known is None:
            return None
        shard, error = judge_parsed(_named(known.header, path), known.size)
    return CachedShard(shard, known.size, error)


def keeping(parsed_cache: ParsedCache, reader: SourceReader) -> Callable[[Header], None]:
    """What keeps the header of the file that is read."""

    def keep(header: Header) -> None:
        packed = pack_headers([CachedHeader(header, reader.size)])
        parsed_cache.store_parsed(reader.path, HEADER, packed)

    return keep


def collecting(
    collect: Callable[[CachedHeader], None], reader: SourceReader
) -> Callable[[Header], None]:
    """What collects the header of the file that is read."""
    return lambda header: collect(CachedHeader(header, reader.size))


def are_cached(parsed_cache: ParsedCache, index: str) -> bool:
    """Whether there is something of ``cached_headers``."""
    return parsed_cache.load_parsed(index, _ALL, of_commit=True) is not None


def cached_headers(
    parsed_cache: ParsedCache, index: str, files: Mapping[str, FileEntry]
) -> dict[str, Header] | None:
    """The headers of all shards of an index as the server had them ready before, by path; None
    where it had not, or a shard has another size now."""
    headers = _unpacked(parsed_cache.load_parsed(index, _ALL, of_commit=True), files)
    return None if headers is None else {one.header.file: one.header for one in headers}


def cache_headers(parsed_cache: ParsedCache, index: str, headers: Sequence[CachedHeader]) -> None:
    """The inverse."""
    parsed_cache.store_parsed(index, _ALL, pack_headers(headers), of_commit=True)


def cached_shards(
    parsed_cache: ParsedCache, index: str, files: Mapping[str, FileEntry]
) -> dict[str, CachedHeader]:
    """The headers of those shards of an index that were read before, by path; none where one of
    the weight files next to the index is another one now."""
    place = _CacheEntry.of(index, files)
    headers = _unpacked(
        parsed_cache.load_parsed(place.path, place.what, of_commit=place.of_commit), files
    )
    return {one.header.file: one for one in headers or ()}


def cache_shards(
    parsed_cache: ParsedCache,
    index: str,
    files: Mapping[str, FileEntry],
    headers: Sequence[CachedHeader],
) -> None:
    """The inverse: all in one entry, for to write 163 takes as long as to parse half of them."""
    place = _CacheEntry.of(index, files)
    paths = [one.header.file for one in headers]
    parsed_cache.store_parsed(
        place.path, place.what, pack_headers(headers), of_commit=place.of_commit, instead_of=paths
    )


class _CacheEntry(NamedTuple):
    """Where the headers of shards are kept together: as something made of one of them, that has
    the content of all weight files next to the index in its name, so that a commit which changes
    none of these keeps them. ``of_commit`` where nobody says what their content is."""

    path: str
    what: str
    of_commit: bool

    @classmethod
    def of(cls, index: str, files: Mapping[str, FileEntry]) -> "_CacheEntry":
        """The place for the shards of an index."""
        import hashlib

        folder = index[: index.rfind("/") + 1]
        near = [
            entry
            for path, entry in sorted(files.items())
            if path.endswith(".safetensors") and path.rpartition("/")[0] == folder.rstrip("/")
        ]
        if not near or any(entry.sha256 is None for entry in near):
            return cls(index, "headers of shards that were read", of_commit=True)
        names = repr([(entry.path, entry.size, entry.sha256) for entry in near])
        digest = hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(near[0].path, f"headers of shards {digest}", of_commit=False)


def _unpacked(packed: bytes | None, files: Mapping[str, FileEntry]) -> list[CachedHeader] | None:
    """Headers, with the sizes of their files as far as these are known; None where one has another
    size now."""
    if packed is None:
        return None
    with collector_paused():
        headers = unpack_headers(packed)
    known = [_same_size(one, files.get(one.header.file)) for one in headers or ()]
    usable = [one for one in known if one is not None]
    return usable if usable and len(usable) == len(known) else None


def _same_size(one: CachedHeader, entry: FileEntry | None) -> CachedHeader | None:
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
