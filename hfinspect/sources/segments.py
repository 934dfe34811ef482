"""Pieces of one file that were read, and whether they cover a range."""

from __future__ import annotations

import struct
from typing import Final

#: A size that no file has: it is not known.
_NO_SIZE: Final = (1 << 64) - 1
_HEAD = struct.Struct("<QI")
_PIECE = struct.Struct("<QQ")


class Segments:
    """What is known of a file: its size, if it was told, and pieces of its bytes by offset."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size
        self._pieces: dict[int, bytes] = {}

    def find(self, start: int, stop: int) -> bytes | None:
        """Bytes ``start`` to ``stop`` (fewer where the file ends); None if not all are known."""
        end = stop if self.size is None else min(stop, self.size)
        if end <= start:
            return b"" if self.size is not None else None
        for begin, data in self._pieces.items():
            if begin <= start and end <= begin + len(data):
                return data[start - begin : end - begin]
        return None

    def add(self, start: int, data: bytes) -> None:
        """Remember bytes; what they continue or overlap becomes one piece with them."""
        for begin, known in sorted(self._pieces.items()):
            if begin <= start + len(data) and start <= begin + len(known):
                del self._pieces[begin]
                first = min(begin, start)
                joined = bytearray(max(begin + len(known), start + len(data)) - first)
                joined[begin - first : begin - first + len(known)] = known
                joined[start - first : start - first + len(data)] = data
                start, data = first, bytes(joined)
        self._pieces[start] = data

    def pack(self) -> bytes:
        """As bytes, for ``unpack``."""
        size = _NO_SIZE if self.size is None else self.size
        parts = [_HEAD.pack(size, len(self._pieces))]
        for start, data in sorted(self._pieces.items()):
            parts += [_PIECE.pack(start, len(data)), data]
        return b"".join(parts)

    @classmethod
    def unpack(cls, packed: bytes) -> Segments:
        """What ``pack`` made: the cache has checked that it is just that."""
        size, count = _HEAD.unpack_from(packed)
        found = cls(None if size == _NO_SIZE else size)
        at = _HEAD.size
        for _ in range(count):
            start, length = _PIECE.unpack_from(packed, at)
            at += _PIECE.size
            found._pieces[start] = packed[at : at + length]
            at += length
        return found
