"""One model read by two runs, an inspection and an audit: what the first has read costs the second
nothing."""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from .caching import CachingSource, Segments
from .layer import SourceLayer
from .source import FileEntry, ParsedCache, Source

#: Bytes of headers and small files that are kept of a model: the headers of the largest take 80 MB.
MAX_MEMOIZED: Final = 128 << 20


class MemoizedSource(SourceLayer):
    """``inner`` with what was read kept in memory, until it shall ``only_answer``, or up to
    ``MAX_MEMOIZED`` bytes.

    What is kept are headers and small files: some kilobytes, and some megabytes of the largest
    models. It goes with the source.
    """

    def __init__(self, inner: Source, parsed_cache: ParsedCache | None = None) -> None:
        """``parsed_cache`` is for an inner source that has none."""
        super().__init__(inner)
        self._left = MAX_MEMOIZED
        self._listing_complete: bool | None = None
        self._segments: dict[str, Segments] = {}
        self._bodies: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._parsed_cache = inner.parsed_cache or parsed_cache

    @property
    def parsed_cache(self) -> ParsedCache | None:
        return self._parsed_cache

    @property
    def listing_complete(self) -> bool:
        if self._listing_complete is None:
            self._listing_complete = self.inner.listing_complete
        return self._listing_complete

    def only_answer(self) -> None:
        """From now on nothing more is kept, here or in a header cache: what is read is not read
        again."""
        self._left = 0
        if isinstance(self.inner, CachingSource):
            self.inner.flush()
            self.inner = self.inner.inner

    def list_files(self) -> Mapping[str, FileEntry]:
        files = self.inner.list_files()
        self._listing_complete = self.inner.listing_complete
        return files

    def read(self, path: str, start: int, stop: int) -> bytes:
        return self.read_spans(path, [(start, stop)])[0]

    def locate(self, path: str, stop: int) -> int:
        """As of ``HubSource``; nothing for what was read before."""
        return 0 if self._known(path, 0, 1) is not None else self.inner.locate(path, stop)

    def read_spans(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        known = {span: self._known(path, *span) for span in spans}
        missing = [span for span, data in known.items() if data is None]
        if missing:
            if len(missing) == 1:
                parts = [self.inner.read(path, *missing[0])]
            else:
                parts = self.inner.read_spans(path, missing)
            for (start, stop), data in zip(missing, parts, strict=True):
                known[(start, stop)] = data
                self._keep(path, start, data)
        return [known[span] or b"" for span in spans]

    def read_all(self, path: str, limit: int) -> bytes:
        with self._lock:
            data = self._bodies.get(path)
        if data is None or len(data) > limit:
            data = self.inner.read_all(path, limit)
            with self._lock:
                if self._has_room(data):
                    self._bodies[path] = data
        return data

    def _known(self, path: str, start: int, stop: int) -> bytes | None:
        with self._lock:
            content = self._bodies.get(path)
            segments = self._segments.get(path)
            if content is not None:
                return content[start:stop]
            return None if segments is None else segments.find(start, stop)

    def _keep(self, path: str, start: int, data: bytes) -> None:
        entry = self.inner.list_files().get(path)
        with self._lock:
            if self._has_room(data):
                of_file = self._segments.setdefault(path, Segments(entry.size if entry else None))
                of_file.add(start, data)

    def _has_room(self, data: bytes) -> bool:
        fits = len(data) <= self._left
        self._left -= len(data) if fits else 0
        return fits
