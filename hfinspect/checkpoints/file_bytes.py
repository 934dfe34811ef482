"""One file of a source as a format reader wants it, and how much of it to read first."""

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future
from itertools import groupby
from operator import itemgetter

from ..core.checkpoint import Shard, ShardIndex
from ..formats.safetensors.safetensors import (
    DEFAULT_FIRST_GUESS,
    METADATA_BYTES,
    PREFIX_BYTES,
    header_bound,
    name_bytes,
    names_bytes,
)
from ..sources.source import FileEntry, Source
from ..sources.waiting import result_of
from .folded_index import longest_names

#: One shard's header shows how long those of the others are; this much more is read.
_HEADROOM = 1.125


class SourceReader:
    """``formats.base.Reader`` over a source. A size that is not in the file list is known after the
    first read, when the server has said it."""

    def __init__(self, source: Source, path: str) -> None:
        self.path = path
        self.is_near = source.is_near
        self._source = source
        self._has_read = False
        entry = source.list_files().get(path)
        self._size = entry.size if entry else None

    @property
    def size(self) -> int | None:
        if self._size is None and self._has_read:
            self._size = self._source.size(self.path)
        return self._size

    def locate(self, stop: int) -> int:
        """As ``Source.locate``, of this file."""
        return self._source.locate(self.path, stop)

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

    An index may come while it is found out where the shards are (``awaiting``): whoever wants to
    know how much to read waits until it was ``take``n, or ``give_up`` says that there is none.
    """

    def __init__(
        self,
        source: Source,
        indexes: Iterable[ShardIndex] = (),
        *,
        typical: int | None = None,
        awaiting: bool = False,
    ) -> None:
        self._is_near = source.is_near
        self._names: dict[str, tuple[int, int]] = {}
        self._named: dict[str, list[str]] = {}
        #: Shards whose tensors are just those that an index says, of the indexes that are known by
        #: name.
        self._confirmed: set[str] = set()
        self._seen = typical or DEFAULT_FIRST_GUESS
        self._come: Future[None] = Future()
        for index in indexes:
            self.take(index)
        if not awaiting:
            self.give_up()

    @property
    def fallback_bytes(self) -> int | None:
        """Bytes that are a good guess while the index is on its way; None where it is not."""
        return None if self._is_near or self._come.done() else self._seen

    def give_up(self) -> None:
        """No index comes any more."""
        if not self._come.done():
            self._come.set_result(None)

    def take(self, index: ShardIndex) -> None:
        """What an index says of the shards next to it."""
        folder = index.file[: index.file.rfind("/") + 1]
        bounds = longest_names(index.weight_map)
        if bounds is not None:
            self._learn_lengths(folder, bounds)
        else:
            names_of: dict[str, list[str]] = {}
            # Most indexes name the tensors of a shard one after the other.
            for shard, items in groupby(index.weight_map.items(), itemgetter(1)):
                names_of.setdefault(folder + shard, []).extend(map(itemgetter(0), items))
            self._named |= names_of
        self.give_up()

    def _learn_lengths(self, folder: str, bounds: Iterable[tuple[str, int, str]]) -> None:
        for shard, tensors, longest in bounds:
            count, length = self._names.get(folder + shard, (0, 0))
            size = tensors * name_bytes(longest)
            self._names[folder + shard] = count + tensors, length + size

    def bytes_for(self, format_name: str, path: str, size: int | None) -> int | None:
        if format_name != "safetensors":
            return None
        if self._is_near:
            return PREFIX_BYTES
        result_of(self._come)
        indexed = self._named.get(path)
        if indexed is not None:
            return header_bound(len(indexed), names_bytes(indexed), size)
        names = self._names.get(path)
        return self._seen if names is None else header_bound(*names, size)

    def compare(self, path: str, names: set[str]) -> None:
        """Compare the names in a header with those that an index says."""
        indexed = self._named.get(path)
        if indexed is not None and len(names) == len(indexed) and names.issuperset(indexed):
            self._confirmed.add(path)

    def all_confirmed(self, paths: Collection[str]) -> bool:
        """Whether these are the shards that the indexes name, and have just the tensors that these
        say."""
        return not self._names and set(paths) == self._named.keys() == self._confirmed

    def learn(self, shard: Shard) -> None:
        known = shard.file in self._names or shard.file in self._named
        if shard.format != "safetensors" or known:
            return
        self._seen = max(self._seen, int(shard.header_bytes * _HEADROOM))


def typical_header(index_bytes: int, shards: int) -> int:
    """Bytes of one header of ``shards``, from the size of their index alone: a tensor takes 1.25
    to 1.5 times as much of a header as of an index."""
    return PREFIX_BYTES + METADATA_BYTES + index_bytes * 3 // (2 * max(shards, 1))


def is_incompressible(entry: FileEntry) -> bool:
    """Whether a file comes as it is: the Hub keeps it in LFS. An index of that kind (more than
    10 MB) would cost about as much as the headers that it describes, any other a tenth."""
    return entry.sha256 is not None
