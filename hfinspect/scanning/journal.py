"""Rows on disk: one line at a time, whole or not at all, in the order of the targets.

The file is at any moment a prefix of what the undisturbed run would write, so resuming is: drop a
cut last line, check that the rows are those of this list, go on after them.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from ..core.text import clean
from ..errors import UnreadableError, UsageError
from ..reports.csv import plain
from .rows import Row

#: A row is a few hundred bytes; a line beyond this is not one of ours.
MAX_LINE: Final = 1 << 20


class LineFormat(Protocol):
    """How a row becomes a line, and back."""

    def header(self, columns: Sequence[str], /) -> str | None: ...

    def line(self, row: Row) -> str: ...

    def target(self, line: str) -> str: ...


class JsonLines:
    """One JSON object a line, ASCII only: foreign names reach no terminal raw."""

    def header(self, _columns: Sequence[str]) -> str | None:
        return None

    def line(self, row: Row) -> str:
        return json.dumps(row)

    def target(self, line: str) -> str:
        found = json.loads(line)
        return str(found["target"])


class CsvLines:
    """RFC 4180 with a header line; no cell holds a line break."""

    def header(self, columns: Sequence[str]) -> str | None:
        return _csv_line(list(columns))

    def line(self, row: Row) -> str:
        return _csv_line([plain(cell) for cell in row.values()])

    def target(self, line: str) -> str:
        return next(csv.reader([line]))[0]


FORMATS: Final[dict[str, LineFormat]] = {"jsonl": JsonLines(), "csv": CsvLines()}


def _csv_line(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()


class Journal:
    """A file that rows are appended to. Use as a context manager."""

    def __init__(
        self, path: Path, lines: LineFormat, columns: Sequence[str], *, header: bool
    ) -> None:
        self.path = path
        self.lines = lines
        self.columns = columns
        self._header = lines.header(columns) if header else None
        self._file = -1
        self._end = 0

    def open(self, *, resume: bool) -> list[str]:
        """Begin, or go on; the targets whose rows are there already."""
        try:
            flags = os.O_RDWR | os.O_CREAT | (0 if resume else os.O_TRUNC)
            self._file = os.open(self.path, flags, 0o666)
            there = self._recover() if resume else []
            if not there and self._end == 0 and self._header is not None:
                self._write(self._header)
        except OSError as error:
            raise UnreadableError(str(self.path), f"cannot be written: {error.strerror}") from None
        return there

    def _recover(self) -> list[str]:
        """Targets of the whole lines; what a crash left of a last one is cut off."""
        targets: list[str] = []
        end = 0
        with open(self._file, "rb", closefd=False) as stream:
            for number, raw in enumerate(iter(lambda: stream.readline(MAX_LINE), b"")):
                if not raw.endswith(b"\n"):
                    break
                targets += self._target_of(raw, number)
                end += len(raw)
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)
        self._end = end
        return targets

    def _target_of(self, raw: bytes, number: int) -> list[str]:
        try:
            line = raw.decode("utf-8").rstrip("\r\n")
            if number == 0 and self._header is not None:
                if line != self._header:
                    raise ValueError(line)
                return []
            return [self.lines.target(line)]
        except (ValueError, KeyError, IndexError, StopIteration, TypeError):
            raise UsageError(
                str(self.path),
                f"line {number + 1} is no row of such a scan",
                expected="the output of the same command",
                hint="leave --resume out to begin anew",
            ) from None

    def write(self, row: Row) -> None:
        """Append a row. A full disk leaves the file as it was before the row."""
        self._write(self.lines.line(row))

    def _write(self, line: str) -> None:
        data = line.encode("utf-8") + b"\n"
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            self._end += len(data)
        except OSError as error:
            os.ftruncate(self._file, self._end)
            raise UnreadableError(str(self.path), f"cannot be written: {error.strerror}") from None

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def left_to_do(targets: Sequence[str], there: Sequence[str], path: Path) -> Sequence[str]:
    """The targets after those that have rows. Raises UsageError if the rows are of another list."""
    for i, name in enumerate(there):
        if i >= len(targets) or clean(targets[i]) != clean(name):
            raise UsageError(
                str(path),
                f"row {i + 1} is {clean(name)}",
                expected=clean(targets[i]) if i < len(targets) else "no such row",
                hint="it was written for another list; leave --resume out to begin anew",
            )
    return targets[len(there) :]


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a jsonl journal."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
