"""How a row becomes a line of a file, and back."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Final, Protocol

from ..core.nesting import loads
from ..reports.csv import plain
from .rows import ScanRow, ScanValue, types_of


class LineFormat(Protocol):
    """One row, one line."""

    def header(self, columns: Sequence[str], /) -> str | None:
        """The file's first line, if it has one that is no row."""
        ...

    def line(self, row: ScanRow) -> str: ...

    def row(self, line: str, columns: Sequence[str]) -> ScanRow:
        """A line's row. Raises ValueError if it is none with just these columns."""
        ...

    def may_begin(self, text: str) -> bool:
        """Whether the text can be the beginning of a line of this format."""
        ...


class JsonLines:
    """One JSON object a line, ASCII only: foreign names reach no terminal raw."""

    def header(self, _columns: Sequence[str]) -> str | None:
        return None

    def line(self, row: ScanRow) -> str:
        return json.dumps(row)

    def row(self, line: str, columns: Sequence[str]) -> ScanRow:
        value = loads(line)
        if not isinstance(value, dict) or tuple(value) != tuple(columns):
            raise ValueError("another row")
        return value

    def may_begin(self, text: str) -> bool:
        begin = '{"target": "'
        return text.startswith(begin) or begin.startswith(text)


class CsvLines:
    """RFC 4180 with a header line; no cell holds a line break, empty cells are null."""

    def header(self, columns: Sequence[str]) -> str | None:
        return _csv_line(list(columns))

    def line(self, row: ScanRow) -> str:
        return _csv_line([plain(cell) for cell in row.values()])

    def row(self, line: str, columns: Sequence[str]) -> ScanRow:
        cells = next(csv.reader([line]), [])
        if len(cells) != len(columns):
            raise ValueError("another row")
        kinds = types_of(columns)
        return {name: _read(cell, kinds[name]) for name, cell in zip(columns, cells, strict=True)}

    def may_begin(self, _text: str) -> bool:
        return True


FORMATS: Final[dict[str, LineFormat]] = {"jsonl": JsonLines(), "csv": CsvLines()}


def _csv_line(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()


def _read(cell: str, kind: str) -> ScanValue:
    """A cell as it was before ``reports.csv.plain``. Raises ValueError."""
    if not cell:
        return None
    if kind == "bool":
        return {"true": True, "false": False}[cell] if cell in ("true", "false") else None
    if kind == "int64":
        return int(cell)
    return cell[1:] if cell[0] == "'" and plain(cell[1:]) == cell else cell
