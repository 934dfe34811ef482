"""A source above another one."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ..core.refs import Origin
from ..errors import HfinspectError
from .deadline import Deadline
from .source import DiskSource, FileEntry, ParsedCache, Source

T = TypeVar("T")


class SourceLayer(Source):
    """``inner``, of which a subclass answers some questions itself."""

    def __init__(self, inner: Source) -> None:
        self.inner = inner

    @property
    def origin(self) -> Origin:
        return self.inner.origin

    def list_files(self) -> Mapping[str, FileEntry]:
        return self.inner.list_files()

    def size(self, path: str) -> int:
        return self.inner.size(path)

    def read(self, path: str, start: int, stop: int) -> bytes:
        return self.inner.read(path, start, stop)

    def read_all(self, path: str, limit: int) -> bytes:
        return self.inner.read_all(path, limit)

    def set_deadline(self, deadline: Deadline) -> None:
        self.inner.set_deadline(deadline)

    def read_spans(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        return self.inner.read_spans(path, spans)

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T | HfinspectError]:
        return self.inner.gather(tasks)

    def shard_headers(
        self, index_file: str, come: Callable[[int], None] | None = None
    ) -> Mapping[str, bytes | Mapping[str, object]] | None:
        return self.inner.shard_headers(index_file, come)

    def locate(self, path: str, stop: int) -> int:
        return self.inner.locate(path, stop)

    def known_size(self, path: str) -> int | None:
        return self.inner.known_size(path)

    @property
    def is_near(self) -> bool:
        return self.inner.is_near

    @property
    def parsed_cache(self) -> ParsedCache | None:
        return self.inner.parsed_cache

    @property
    def listing_complete(self) -> bool:
        return self.inner.listing_complete

    @property
    def refused(self) -> Mapping[str, HfinspectError]:
        return self.inner.refused

    @property
    def passed_over(self) -> Mapping[str, str]:
        return self.inner.passed_over

    @property
    def on_disk(self) -> DiskSource | None:
        return self.inner.on_disk

    def reader_id(self) -> str | None:
        return self.inner.reader_id()

    def is_public(self) -> bool:
        return self.inner.is_public()

    def close(self) -> None:
        self.inner.close()
