"""Ranges of a file that were already read, so that no byte is read twice.

Header readers guess how much to read; ``Windows`` keeps the guesses and answers later reads out
of them, and ``Cursor`` reads forward through a header whose length nobody knows in advance.
"""

from collections.abc import Sequence

from ..errors import FormatError, LimitError
from .base import Reader, SpanReader

#: First step of a forward read: most headers without a tokenizer fit, and one answer of that size
#: costs about as long as its round trip.
FIRST_STEP = 512 * 1024
#: Later steps: the most that is read beyond the end of a header.
NEXT_STEP = 2 * 1024 * 1024


class Windows:
    """Random access to one file through a few remembered ranges."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._ranges: list[tuple[int, bytes]] = []
        self.path = reader.path

    @property
    def size(self) -> int | None:
        return self._reader.size

    def known_size(self) -> int:
        """The file's size; FormatError where even the first read did not show it."""
        size = self._reader.size
        if size is None:
            raise FormatError(self.path, "its size is not known", rule="unknown-size")
        return size

    @property
    def is_near(self) -> bool:
        """Whether a read costs no round trip."""
        return bool(getattr(self._reader, "is_near", False))

    def fresh(self) -> "Windows":
        """The same file with nothing remembered."""
        return Windows(self._reader)

    def peek(self, start: int, stop: int) -> bytes | None:
        """Bytes ``start`` to ``stop`` if they were read before; None otherwise."""
        for begin, data in self._ranges:
            if begin <= start and stop <= begin + len(data):
                return data[start - begin : stop - begin]
        return None

    def prefetch(self, spans: Sequence[tuple[int, int]]) -> None:
        """Read ranges (ascending, apart) that will be wanted, if the reader can do so at once."""
        if isinstance(self._reader, SpanReader):
            data = self._reader.read_spans(spans)
            self._ranges += zip((start for start, _ in spans), data, strict=True)

    def read(self, start: int, stop: int) -> bytes:
        """Bytes ``start`` to ``stop``, half-open, fewer only where the file ends."""
        size = self._reader.size
        if size is not None:
            stop = min(stop, size)
        if stop <= start:
            return b""
        known = self.peek(start, stop)
        if known is not None:
            return known
        prefix = b""
        for begin, data in self._ranges:
            if begin <= start < begin + len(data):
                prefix = max(prefix, data[start - begin :], key=len)
        data = prefix + self._reader.read(start + len(prefix), stop)
        self._ranges.append((start, data))
        return data

    def glance(self, start: int, stop: int) -> bytes:
        """As ``read``, of bytes that nobody will want again: they are not kept."""
        known = self.peek(start, stop)
        return self._reader.read(start, stop) if known is None else known


class WindowPart:
    """A part of a file, read as a file of its own: the member of an archive."""

    def __init__(self, file: Windows, path: str, begin: int, length: int) -> None:
        self.path = path
        self.size: int | None = length
        self.is_near = file.is_near
        self._file = file
        self._begin = begin
        self._end = begin + length

    def read(self, start: int, stop: int) -> bytes:
        return self._file.read(self._begin + start, min(self._begin + stop, self._end))


class Cursor:
    """Forward reading in steps; keeps only what lies between the position and the last step.

    ``limit`` bounds the bytes that are read in all; LimitError beyond it. ``rule`` is the name
    of the broken rule when the file ends too early.
    """

    def __init__(self, reader: Reader, *, limit: int, rule: str, first: int | None = None) -> None:
        self._reader = reader
        self._limit = limit
        self._rule = rule
        self._step = max(first or FIRST_STEP, 64)
        self._read = 0
        self.start = 0  # file offset of buffer[0]
        self.buffer = b""
        self.at = 0  # index into the buffer

    @property
    def position(self) -> int:
        """Offset in the file of the next byte."""
        return self.start + self.at

    def remaining(self) -> int | None:
        """Bytes between the position and the end of the file, None while the size is unknown."""
        size = self._reader.size
        return None if size is None else size - self.position

    def fill(self, count: int) -> None:
        """Make sure that ``count`` bytes lie in the buffer from ``at`` on; FormatError if not."""
        missing = count - (len(self.buffer) - self.at)
        if missing <= 0:
            return
        remaining = self.remaining()
        if remaining is not None and count > remaining:
            raise self.truncated(count)
        length = max(missing, min(self._step, self._limit - self._read))
        if self._read + missing > self._limit:
            raise LimitError(
                self._reader.path,
                f"the header continues past {self._read:,} bytes",
                expected=f"at most {self._limit:,}",
                where=f"byte {self.position}",
            )
        end = self.start + len(self.buffer)
        stop = end + length
        size = self._reader.size
        more = self._reader.read(end, stop if size is None else min(stop, size))
        self._read += len(more)
        self._step = NEXT_STEP
        self.buffer = self.buffer[self.at :] + more
        self.start += self.at
        self.at = 0
        if len(self.buffer) < count:
            raise self.truncated(count)

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        self.fill(count)
        data = self.buffer[self.at : self.at + count]
        self.at += count
        return data

    def skip(self, count: int) -> None:
        """Move on by ``count`` bytes, reading none that are not in the buffer already."""
        remaining = self.remaining()
        if remaining is not None and count > remaining:
            raise self.truncated(count)
        target = self.position + count
        if target <= self.start + len(self.buffer):
            self.at += count
        else:
            self.start = target
            self.buffer = b""
            self.at = 0

    def truncated(self, count: int) -> FormatError:
        return FormatError(
            self._reader.path,
            "the file ends inside its header",
            rule=self._rule,
            expected=f"{count:,} more bytes",
            where=f"byte {self.position}",
        )
