"""One file of a source as a format reader wants it, and how much of it to read first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..core.checkpoint import Shard, ShardIndex
from ..core.stored_tensors import longest_name
from ..formats.safetensors.safetensors import (
    DEFAULT_FIRST_GUESS,
    METADATA_BYTES,
    PREFIX_BYTES,
    header_bound,
    name_bytes,
)
from ..sources.source import FileEntry, Source
from .folded_index import FoldedMap

#: One shard's header shows how long those of the others are; this much more is read.
_HEADROOM = 1.125


class SourceReader:
    """``formats.base.Reader`` over a source. A size that is not in the file list is known after the
    first read, when the server has said it."""

    def __init__(self, source: Source, path: str) -> None:
        self.path = path
        self.is_near = is_local(source)
        self._source = source
        self._has_read = False
        entry = source.list_files().get(path)
        self._size = entry.size if entry else None

    @property
    def size(self) -> int | None:
        if self._size is None and self._has_read:
            self._size = self._source.size(self.path)
        return self._size

    def read(self, start: int, stop: int) -> bytes:
        data = self._source.read(self.path, start, stop)
        self._has_read = True
        return data

    def read_spans(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        self._has_read = True
        return self._source.read_spans(self.path, spans)


class FirstGuess:
    """How many bytes the first read of a safetensors shard covers.

    On disk the eight bytes of length, for a second read costs nothing there. Elsewhere the bound
    that the names in its index give, or else ``typical`` bytes, or a constant; these grow for the
    shards not yet read when one has turned out longer. Other formats know best themselves.
    """

    def __init__(
        self, source: Source, indexes: Iterable[ShardIndex] = (), *, typical: int | None = None
    ) -> None:
        self._is_local = is_local(source)
        self._names: dict[str, tuple[int, int]] = {}
        self._seen = typical or DEFAULT_FIRST_GUESS
        for index in () if self._is_local else indexes:
            folder = index.file[: index.file.rfind("/") + 1]
            for shard, count, length in _lengths(index.weight_map):
                before = self._names.get(folder + shard, (0, 0))
                self._names[folder + shard] = before[0] + count, before[1] + length

    def bytes_for(self, format_name: str, path: str, size: int | None) -> int | None:
        if format_name != "safetensors":
            return None
        if self._is_local:
            return PREFIX_BYTES
        names = self._names.get(path)
        return self._seen if names is None else header_bound(*names, size)

    def learn(self, shard: Shard) -> None:
        if shard.format != "safetensors" or shard.file in self._names:
            return
        self._seen = max(self._seen, int(shard.header_bytes * _HEADROOM))


def _lengths(weight_map: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    """Shards with numbers of their names, and at most how many bytes these take in a header."""
    if isinstance(weight_map, FoldedMap):
        for (pattern, shard), keys in zip(weight_map.groups, weight_map.keys_of, strict=True):
            yield shard, len(keys), len(keys) * name_bytes(longest_name(pattern, keys))
    else:
        for name, shard in weight_map.items():
            yield shard, 1, name_bytes(name)


def typical_header(index_bytes: int, shards: int) -> int:
    """Bytes of one header of ``shards``, from the size of their index alone: a tensor takes 1.25
    to 1.5 times as much of a header as of an index."""
    return PREFIX_BYTES + METADATA_BYTES + index_bytes * 3 // (2 * max(shards, 1))


def is_incompressible(entry: FileEntry) -> bool:
    """Whether a file comes as it is: the Hub keeps it in LFS. An index of that kind (more than
    10 MB) would cost about as much as the headers that it describes, any other a tenth."""
    return entry.sha256 is not None


def is_local(source: Source) -> bool:
    """Whether reads cost no round trips."""
    return source.origin.kind != "hub"
