"""A model whose reading begins before anybody has asked: what it waits for comes in while the rest
of a program is imported.

What is read ahead is what will be read anyway, in the same requests; nothing is asked twice.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from ..errors import HfinspectError
from .layer import SourceLayer
from .source import FileEntry, Source
from .threads import DaemonThreads
from .waiting import result_of


class Whole(NamedTuple):
    """A small file; ``limit`` is in bytes."""

    path: str
    limit: int


class Front(NamedTuple):
    """The first ``stop`` bytes of a file."""

    path: str
    stop: int


class Ready(NamedTuple):
    """The headers of all shards that an index names, where the server has them ready."""

    index_file: str


PlannedRead: TypeAlias = Whole | Front | Ready

#: What ``shard_headers`` returns.
_Headers: TypeAlias = "Mapping[str, bytes | Mapping[str, object]] | None"

#: A list, and the first reads of a plain model at once.
_THREADS = 3


class PrefetchedSource(SourceLayer):
    """``inner``, whose file list is on its way, and after it what ``plan`` makes of that list.

    Each read is answered once, to whoever reads just that; its error is raised there. Everything
    else is ``inner``'s. ``on_list`` is called when somebody wants the list.
    """

    on_list: Callable[[], None] | None = None

    def __init__(
        self, inner: Source, plan: Callable[[Mapping[str, FileEntry]], Sequence[PlannedRead]]
    ) -> None:
        super().__init__(inner)
        self._plan = plan
        self._threads = DaemonThreads(_THREADS)
        self._coming: dict[PlannedRead, Future[Any]] = {}
        #: How many headers have come, and who is to know of more.
        self._come = 0
        self._watch: Callable[[int], None] | None = None
        self._listed = self._threads.submit(self._list)

    def _list(self) -> Mapping[str, FileEntry]:
        files = self.inner.list_files()
        with suppress(HfinspectError):  # whoever reads the model says what is wrong with the list
            self._read(self._plan(files))
        self._threads.shutdown(wait=False)
        return files

    def _read(self, reads: Sequence[PlannedRead]) -> None:
        for one in reads:
            if isinstance(one, Whole):
                self._coming[one] = self._threads.submit(self.inner.read_all, *one)
            elif isinstance(one, Ready):
                ready = self._threads.submit(self.inner.shard_headers, one.index_file, self._note)
                self._coming[one] = ready
            else:
                self._coming[one] = self._threads.submit(self.inner.read, one.path, 0, one.stop)

    def list_files(self) -> Mapping[str, FileEntry]:
        on_listing = self.on_list
        self.on_list = None
        if on_listing is not None:
            on_listing()
        return result_of(self._listed)

    def read(self, path: str, start: int, stop: int) -> bytes:
        coming = self._coming.pop(Front(path, stop), None) if start == 0 else None
        return self.inner.read(path, start, stop) if coming is None else result_of(coming)

    def read_all(self, path: str, limit: int) -> bytes:
        coming = self._coming.pop(Whole(path, limit), None)
        return self.inner.read_all(path, limit) if coming is None else result_of(coming)

    def shard_headers(self, index_file: str, come: Callable[[int], None] | None = None) -> _Headers:
        coming = self._coming.pop(Ready(index_file), None)
        if coming is None:
            return self.inner.shard_headers(index_file, come)
        self._watch = come
        if come is not None and self._come:
            come(self._come)
        headers: _Headers = result_of(coming)
        return headers

    def _note(self, come: int) -> None:
        self._come = come
        watch = self._watch
        if watch is not None:
            watch(come)
