"""The layout of a scan's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .document import Cell, Column, Document, Table

#: What fits a terminal: the rest of the columns goes first where it is narrow.
_FIRST = ("target", "status", "parameters", "error_kind")


def lay_out(rows: Sequence[Mapping[str, Cell]], types: Mapping[str, str]) -> Document:
    """One row a target."""
    used = [n for n in types if n in _FIRST or any(row.get(n) not in (None, "") for row in rows)]
    columns = tuple(
        Column(name, name, "int" if types[name] == "int64" else "text") for name in used
    )
    body = tuple(tuple("" if row.get(n) is None else row[n] for n in used) for row in rows)
    table = Table(columns, body, optional=tuple(n for n in used if n not in _FIRST))
    return Document("", (table,), table)
