"""The layout of a list of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.tensors import TensorInfo
from .document import Column, Document, Paragraph, Table

_COLUMNS = (
    Column("name", "name"),
    Column("shape", "shape"),
    Column("dtype", "dtype"),
    Column("parameters", "parameters", "int"),
    Column("component", "component"),
    Column("layer", "layer", "int"),
    Column("role", "role"),
    Column("part", "part"),
    Column("file", "file"),
    Column("tied_to", "tied to"),
    Column("view_of", "view of"),
)


def lay_out(title: str, tensors: Sequence[TensorInfo]) -> Document:
    """One row a tensor; columns from the right are left out where a terminal is too narrow."""
    rows = tuple(
        (
            t.name,
            "x".join(str(int(size)) for size in t.shape) or "scalar",
            t.dtype or "unknown",
            t.parameters,
            str(t.component),
            "" if t.layer is None else t.layer,
            str(t.role),
            t.part,
            t.file or "",
            t.tied_to or "",
            t.view_of or "",
        )
        for t in tensors
    )
    used = [i for i, column in enumerate(_COLUMNS) if _says_something(column.name, i, rows)]
    table = Table(
        tuple(_COLUMNS[i] for i in used),
        tuple(tuple(row[i] for i in used) for row in rows),
        optional=("component", "dtype", "layer", "role", "part", "file", "tied_to", "view_of"),
    )
    full = Table(_COLUMNS, rows)
    none = Paragraph("No tensor has a name that matches.")
    return Document(title, (table,) if rows else (none,), full)


def _says_something(name: str, at: int, rows: Sequence[tuple[object, ...]]) -> bool:
    dull = {"role": "parameter", "part": "text", "file": "", "tied_to": "", "view_of": ""}
    return name not in dull or any(row[at] != dull[name] for row in rows)
