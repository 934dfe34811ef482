"""Readers that count what is read of them, and files too large to exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class MeteredReader:
    """A file in memory that counts reads and bytes."""

    path: str
    data: bytes
    asked: list[tuple[int, int]] = field(default_factory=list)
    size_known: bool = True

    @property
    def size(self) -> int | None:
        return len(self.data) if self.size_known or self.asked else None

    def read(self, start: int, stop: int) -> bytes:
        assert 0 <= start < stop, "an empty or negative range was asked"
        self.asked.append((start, stop))
        return self.data[start:stop]

    @property
    def bytes_read(self) -> int:
        return sum(min(stop, len(self.data)) - start for start, stop in self.asked)


@dataclass
class SparseReader:
    """A file of ``size`` bytes that is zero but for ``pieces``, by their offset."""

    path: str
    size: int
    pieces: Mapping[int, bytes]
    reads: int = 0
    bytes_read: int = 0

    def read(self, start: int, stop: int) -> bytes:
        stop = min(stop, self.size)
        assert 0 <= start < stop
        assert stop - start < 2**26, "a huge range was asked"
        self.reads += 1
        self.bytes_read += stop - start
        out = bytearray(stop - start)
        for offset, data in self.pieces.items():
            first = max(start, offset)
            last = min(stop, offset + len(data))
            if first < last:
                out[first - start : last - start] = data[first - offset : last - offset]
        return bytes(out)


def metered(path: Path) -> MeteredReader:
    return MeteredReader(path.name, path.read_bytes())
