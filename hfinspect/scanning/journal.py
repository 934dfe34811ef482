"""Rows on disk: one line at a time, whole or not at all, in the order of the targets.

The file is at any moment a prefix of what the undisturbed run would write, so resuming is: drop a
cut last line, check that the rows are those of this list, go on after them.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import UnreadableError, UsageError
from .lines import LineFormat
from .rows import ScanRow

#: A row is a few hundred bytes; a line beyond this is not one of ours.
MAX_LINE: Final = 1 << 20


class WrittenRow(NamedTuple):
    """A row that is there: its target, and whether it was ok."""

    target: str
    ok: bool


class Journal:
    """A file that rows are appended to. Use as a context manager."""

    def __init__(
        self, path: Path, lines: LineFormat, columns: Sequence[str], *, header: bool = False
    ) -> None:
        self.path = path
        self.lines = lines
        self.columns = tuple(columns)
        self._header = lines.header(self.columns) if header else None
        self._file = -1
        self._end = 0

    def open(self, *, resume: bool) -> list[WrittenRow]:
        """Begin, or go on; the rows that are there already.

        Raises UsageError if the file is something else: it is then left as it was.
        """
        rows: list[WrittenRow] = []
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
            flags |= 0 if resume else os.O_TRUNC
            self._file = os.open(self.path, flags, 0o666)
            if resume:
                rows = [
                    WrittenRow(str(row["target"]), row["status"] == "ok")
                    for row in self._recovered()
                ]
            if self._end == 0 and self._header is not None:
                self._write(self._header)
        except OSError as error:
            raise self._unwritable(error) from None
        return rows

    def _recovered(self) -> Iterator[ScanRow]:
        """The rows of the whole lines; what a crash left of a last one is cut off."""
        end = 0
        with open(self._file, "rb", closefd=False) as stream:
            for number, raw in enumerate(iter(lambda: stream.readline(MAX_LINE), b"")):
                if not raw.endswith(b"\n"):
                    if len(raw) >= MAX_LINE or not self._may_begin(number, raw):
                        raise self._not_ours(number)
                    break
                row = self._parsed(raw, number)
                if row is not None:
                    yield row
                end += len(raw)
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)
        self._end = end

    def _parsed(self, raw: bytes, number: int) -> ScanRow | None:
        """The row of a line; None for the header."""
        try:
            line = raw.decode("utf-8").rstrip("\r\n")
            if number > 0 or self._header is None:
                return self.lines.row(line, self.columns)
            if line == self._header:
                return None
        except ValueError:
            pass
        raise self._not_ours(number)

    def _may_begin(self, number: int, raw: bytes) -> bool:
        """Whether a cut line can be one that we began: somebody else's file is not cut."""
        text = raw.decode("utf-8", "replace")
        if number == 0 and self._header is not None:
            return self._header.startswith(text)
        return self.lines.may_begin(text)

    def _not_ours(self, number: int) -> UsageError:
        error = UsageError(
            str(self.path),
            f"line {number + 1} is not a row of this scan",
            expected="the output of the same command",
            hint="begin a new file",
        )
        error.argument = ("resume", "")
        return error

    def rows(self) -> Iterator[ScanRow]:
        """The whole rows, read again from the file."""
        return (row for _, row in self.rows_and_offsets())

    def rows_and_offsets(self) -> Iterator[tuple[int, ScanRow]]:
        """The whole rows, read again from the file, each with the byte at which its line begins."""
        begin = 0
        with self.path.open("rb") as stream:
            for number, raw in enumerate(stream):
                row = self._parsed(raw, number) if raw.endswith(b"\n") else None
                if row is not None:
                    yield begin, row
                begin += len(raw)

    def rows_at(self, offsets: Iterable[int]) -> Iterator[ScanRow]:
        """The rows whose lines begin at these bytes, in this order."""
        with self.path.open("rb") as stream:
            for offset in offsets:
                stream.seek(offset)
                row = self._parsed(stream.readline(MAX_LINE), 1)
                assert row is not None  # only a header is none
                yield row

    def write(self, row: ScanRow) -> int:
        """Append a row; the byte at which its line begins. A full disk leaves the file as it was
        before the row."""
        begin = self._end
        self._write(self.lines.line(row))
        return begin

    def _write(self, line: str) -> None:
        data = line.encode("utf-8") + b"\n"
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            self._end += len(data)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> UnreadableError:
        return UnreadableError(str(self.path), f"cannot be written: {error.strerror}")

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
