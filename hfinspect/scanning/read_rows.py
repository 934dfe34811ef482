"""Rows of a finished scan, read as they are needed: JSON lines, CSV, Parquet, a folder of parts."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..core.nesting import loads
from ..errors import EntryNotFoundError, UnreadableError, UsageError
from . import parquet
from .dataset_manifest import read_manifest
from .journal import MAX_LINE
from .lines import FORMATS
from .rows import AUDIT_COLUMNS, COLUMNS, LEADING, MEMORY_COLUMNS, TOTALS_COLUMNS, ScanRow, types_of

_KNOWN: Final = frozenset((*LEADING, *COLUMNS, *MEMORY_COLUMNS, *AUDIT_COLUMNS, *TOTALS_COLUMNS))


class RowFile(NamedTuple):
    """Columns that have values, the rows (which are read once), and remarks about them, which are
    whole when all rows were read."""

    columns: tuple[str, ...]
    rows: Iterator[ScanRow]
    notes: list[str]


def open_rows(path: Path, columns: Sequence[str]) -> RowFile:
    """The ``columns`` of all rows. Errors of later rows are raised when they are reached.

    Raises EntryNotFoundError, UnreadableError, and UsageError for what no scan has written.
    """
    try:
        if path.is_dir():
            return _folder(path, columns)
        with path.open("rb") as stream:
            first = stream.readline(MAX_LINE)
    except FileNotFoundError:
        raise EntryNotFoundError(
            str(path), "does not exist", hint="a scan writes it, as models.parquet or models.csv"
        ) from None
    except OSError as error:
        raise UnreadableError(str(path), f"cannot be read: {error.strerror}") from None
    if not first:
        return RowFile((), iter(()), ["the file is empty: a scan of no models, or one that began"])
    if first.startswith(b"PAR1"):
        return _parquet(path, [path], columns)
    if not first.endswith(b"\n") and first.startswith((b'{"target"', b"target,")):
        return RowFile((), iter(()), [_cut_line(1)])
    if first.startswith(b"{"):
        return _json_lines(path, first)
    return _csv(path, first)


def _folder(folder: Path, columns: Sequence[str]) -> RowFile:
    names = sorted(folder.iterdir())
    parts = [path for path in names if path.suffix == ".parquet" and path.name[0] not in "._"]
    manifests = [path for path in names if path.name.startswith("_scan") and path.suffix == ".json"]
    if not parts and not manifests:
        raise UsageError(str(folder), "holds no part of a scan", expected="part-*.parquet")
    states = map(read_manifest, manifests)
    unfinished = any(one is not None and not one.complete for one in states)
    rows = _parquet(folder, parts, columns) if parts else RowFile((), iter(()), [])
    if not unfinished:
        return rows
    what = "the scan is not finished" if len(manifests) == 1 else "not every shard is finished"
    rows.notes.append(f"{what}: rows of parts that are not whole are left out")
    return rows


def _parquet(path: Path, parts: Sequence[Path], chosen: Sequence[str]) -> RowFile:
    parquet.require()
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(parts[0]) as file:
            columns = [name for name in file.schema_arrow.names if name in chosen]
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(parts[0], error) from None
    if "status" not in columns:
        raise _not_rows(path, "has no column status")
    return RowFile(tuple(columns), _rows_of_parts(parts, columns), [])


def _rows_of_parts(parts: Sequence[Path], columns: list[str]) -> Iterator[ScanRow]:
    import pyarrow
    import pyarrow.parquet

    part = parts[0]
    try:
        for part in parts:
            with pyarrow.parquet.ParquetFile(part) as file:
                if not set(columns) <= set(file.schema_arrow.names):
                    raise _not_rows(part, "has other columns than the first part")
                for batch in file.iter_batches(parquet.ROWS, columns=columns):
                    yield from _checked(batch.to_pylist(), part)
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(part, error) from None


def _checked(rows: list[ScanRow], part: Path) -> Iterator[ScanRow]:
    for row in rows:
        if not _is_row(row):
            raise _not_rows(part, "holds something that is not a row")
        yield row


def _json_lines(path: Path, first: bytes) -> RowFile:
    row = _json_row(path, 1, first)
    notes = list[str]()
    rows = (_json_row(path, number, raw) for number, raw in _whole_lines(path, notes))
    return RowFile(tuple(row), rows, notes)


def _whole_lines(path: Path, notes: list[str]) -> Iterator[tuple[int, bytes]]:
    """Lines by number. A last one without its end is left out and becomes a remark. Raises
    UsageError for a line that is too long."""
    with path.open("rb") as stream:
        for number, raw in enumerate(iter(lambda: stream.readline(MAX_LINE), b""), 1):
            if raw.endswith(b"\n"):
                yield number, raw
            elif len(raw) >= MAX_LINE:
                raise _not_rows(path, f"line {number} is not a row")
            else:
                notes.append(_cut_line(number))


def _cut_line(number: int) -> str:
    return (
        f"1 row is left out: line {number:,}, the last one, is cut (a scan is writing it, or was "
        "ended in it)"
    )


def _json_row(path: Path, number: int, raw: bytes) -> ScanRow:
    try:
        row = loads(raw)
    except ValueError:
        row = None
    if not isinstance(row, dict) or not _is_row(row):
        raise _not_rows(path, f"line {number} is not a row")
    return row


def _csv(path: Path, first: bytes) -> RowFile:
    try:
        columns = next(csv.reader([first.decode("utf-8")]), [])
    except (ValueError, csv.Error):
        columns = []
    if columns[:2] != ["target", "status"] or not _KNOWN.issuperset(columns):
        raise _not_rows(path, "does not begin like one")
    notes: list[str] = []
    lines = islice(_whole_lines(path, notes), 1, None)
    return RowFile(tuple(columns), _rows_of_csv(path, lines, columns), notes)


def _rows_of_csv(
    path: Path, lines: Iterator[tuple[int, bytes]], columns: Sequence[str]
) -> Iterator[ScanRow]:
    for number, raw in lines:
        try:
            row = FORMATS["csv"].row(raw.decode("utf-8").rstrip("\r\n"), columns)
        except (ValueError, csv.Error):
            row = {}
        if not _is_row(row):
            raise _not_rows(path, f"line {number} is not a row")
        yield row


def _is_row(row: dict[Any, Any]) -> bool:
    """Whether it has a status, and values of the types of its columns."""
    if row.get("status") not in ("ok", "failed"):
        return False
    return all(
        value is None or _OF[_TYPES[name]](value) for name, value in row.items() if name in _TYPES
    )


_TYPES: Final = types_of(tuple(_KNOWN))
_OF: Final[dict[str, Any]] = {
    "string": lambda value: isinstance(value, str),
    "int64": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
}


def _not_rows(path: Path, problem: str) -> UsageError:
    return UsageError(
        str(path),
        problem,
        expected="the output of hfinspect scan: Parquet, CSV, JSON lines or a folder of parts",
    )


def _unreadable(path: Path, error: Exception) -> UnreadableError:
    reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    return UnreadableError(str(path), f"cannot be read: {reason}")
