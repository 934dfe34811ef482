"""Parquet from a journal, through pyarrow (extra ``hfinspect[parquet]``)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from ..errors import UsageError
from .journal import read_rows

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
    import pyarrow
    import pyarrow.parquet

    kinds = {"string": pyarrow.string(), "int64": pyarrow.int64(), "bool": pyarrow.bool_()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in types.items()])
    unfinished = output.with_name(f".{output.name}.new")
    with pyarrow.parquet.ParquetWriter(unfinished, schema) as writer:
        rows = read_rows(journal)
        while batch := list(islice(rows, ROWS)):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema))
    unfinished.replace(output)
