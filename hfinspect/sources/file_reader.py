"""One file of a source on the Hub, as the header formats read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..core.records import dataclass


class _Ranged(Protocol):
    def known_size(self, path: str) -> int | None: ...

    def read(self, path: str, start: int, stop: int) -> bytes: ...

    def read_spans(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]: ...


@dataclass(frozen=True)
class FileReader:
    """One file of a source (see ``formats.base.Reader``)."""

    source: _Ranged
    path: str

    @property
    def size(self) -> int | None:
        return self.source.known_size(self.path)

    def read(self, start: int, stop: int) -> bytes:
        return self.source.read(self.path, start, stop)

    def read_spans(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        return self.source.read_spans(self.path, spans)
