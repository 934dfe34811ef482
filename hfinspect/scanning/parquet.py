"""Parquet from a journal and back, through pyarrow (extra ``hfinspect[parquet]``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import UnreadableError, UsageError
from .journal import Journal
from .lines import FORMATS
from .rows import Row

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


def write(rows: Iterator[Row], output: Path, types: Mapping[str, str]) -> None:
    """Write ``output`` from rows; it appears whole or not at all. Raises UnreadableError."""
    import pyarrow
    import pyarrow.parquet

    schema = _schema(types)
    unfinished = output.with_name(f".{output.name}.new")
    try:
        with pyarrow.parquet.ParquetWriter(unfinished, schema) as writer:
            while batch := list(islice(rows, ROWS)):
                writer.write_table(pyarrow.Table.from_pylist(batch, schema))
        unfinished.replace(output)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UnreadableError(str(output), f"cannot be written: {error.strerror}") from None


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


def _rows_of(file: Any) -> Iterator[Row]:
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
