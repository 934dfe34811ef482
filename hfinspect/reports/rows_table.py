"""The layout of a scan's rows."""

from collections.abc import Mapping, Sequence

from .document import Cell, Column, Document, Table

#: What a table always shows; where it is about a device, what fits it instead of the counts.
_ALWAYS = ("target", "status", "parameters", "error_kind")
_ALWAYS_FITTING = ("target", "status", "fits", "max_context")
#: What comes next, where there is room; then everything else.
_FIRST = tuple(
    """error_kind memory_total parameters active_parameters dtype quantization nbytes memory_unknown
    architecture model_type cache_per_token cache_nbytes context error""".split()
)


def lay_out(
    rows: Sequence[Mapping[str, Cell]], types: Mapping[str, str], requested: Sequence[str] = ()
) -> Document:
    """One row a target. Columns that the user ``requested`` are there whether or not they are empty
    and have room; of the others those that say anything."""

    def says(name: str) -> bool:
        return any(row.get(name) not in (None, "") for row in rows)

    always = _ALWAYS_FITTING if "fits" in requested else _ALWAYS
    used = [name for name in types if name in requested or name in always or says(name)]
    used = [name for name in used if name != "error_kind" or says(name)]
    columns = tuple(
        Column(name, name, "int" if types[name] == "int64" else "text") for name in used
    )
    body = tuple(tuple("" if row.get(n) is None else row[n] for n in used) for row in rows)
    spare = [name for name in used if name not in requested and name not in always]
    ranked = (*(n for n in _FIRST if n in spare), *(n for n in spare if n not in _FIRST))
    table = Table(columns, body, optional=ranked)
    return Document("", (table,), table)
