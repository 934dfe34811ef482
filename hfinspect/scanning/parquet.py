"""Parquet from a journal and back, through pyarrow (extra ``hfinspect[parquet]``)."""

import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import UnreadableError, UsageError
from .journal import Journal
from .lines import FORMATS
from .rows import ScanRow

#: Rows per row group: large enough to compress, small enough to keep memory flat.
ROWS = 5000


def require() -> None:
    """Raises UsageError if pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise UsageError(
            "format parquet", "needs pyarrow", hint="pip install 'hfinspect[parquet]'"
        ) from None


def convert(journal: Path, output: Path, types: Mapping[str, str]) -> None:
    """Write ``output`` from the rows of ``journal``; it appears whole or not at all."""
    write(Journal(journal, FORMATS["jsonl"], tuple(types)).rows(), output, types)


def write(rows: Iterable[ScanRow], output: Path, types: Mapping[str, str]) -> None:
    """Write ``output`` from rows; it appears whole or not at all. Raises UnreadableError."""
    with _appearing(output) as unfinished:
        _write(rows, unfinished, types)


def write_bytes(data: bytes, output: Path) -> None:
    """Write ``output`` as it was packed elsewhere. Raises UnreadableError."""
    with _appearing(output) as unfinished:
        unfinished.write_bytes(data)


def packed(rows: Iterable[ScanRow], types: Mapping[str, str]) -> bytes:
    """The bytes that ``write`` would write."""
    data = io.BytesIO()
    _write(rows, data, types)
    return data.getvalue()


def _write(rows: Iterable[ScanRow], sink: object, types: Mapping[str, str]) -> None:
    import pyarrow
    import pyarrow.parquet

    schema = _schema(types)
    rest = iter(rows)
    with pyarrow.parquet.ParquetWriter(sink, schema) as writer:
        while batch := list(islice(rest, ROWS)):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema))


@contextmanager
def _appearing(output: Path) -> Iterator[Path]:
    """Where to write a file that then appears as ``output``, whole or not at all."""
    unfinished = output.with_name(f".{output.name}.new")
    try:
        yield unfinished
        unfinished.replace(output)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UnreadableError(str(output), f"cannot be written: {error.strerror}") from None


def count(output: Path) -> int:
    """How many rows a file has."""
    import pyarrow.parquet

    rows: int = pyarrow.parquet.read_metadata(output).num_rows
    return rows


def rows_of(output: Path) -> Iterator[ScanRow]:
    """The rows of a file that a scan with these columns has written, as they are needed."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(output) as file:
        yield from _rows_of(file)


def restore(output: Path, journal: Path, types: Mapping[str, str]) -> None:
    """The journal of a Parquet file that an earlier run finished.

    Raises UsageError if the file is another.
    """
    import pyarrow
    import pyarrow.parquet

    unfinished = journal.with_name(f".{journal.name}.new")
    try:
        with pyarrow.parquet.ParquetFile(output) as file:
            if not file.schema_arrow.equals(_schema(types)):
                raise _not_ours(output)
            with Journal(unfinished, FORMATS["jsonl"], tuple(types)) as rows:
                rows.open(resume=False)
                for row in _rows_of(file):
                    rows.write(row)
    except pyarrow.ArrowInvalid:
        raise _not_ours(output) from None
    unfinished.replace(journal)


def _rows_of(file: Any) -> Iterator[ScanRow]:
    for batch in file.iter_batches(ROWS):
        yield from batch.to_pylist()


def _schema(types: Mapping[str, str]) -> Any:
    import pyarrow

    kinds = {"string": pyarrow.string(), "int64": pyarrow.int64(), "bool": pyarrow.bool_()}
    return pyarrow.schema([(name, kinds[kind]) for name, kind in types.items()])


def _not_ours(output: Path) -> UsageError:
    error = UsageError(
        str(output),
        "is not an output of this scan",
        expected="the output of the same command",
        hint="begin a new file",
    )
    error.argument = ("resume", "")
    return error
