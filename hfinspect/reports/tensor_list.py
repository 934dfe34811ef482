"""The layout of a list of tensors."""

from collections.abc import Sequence

from ..core.overrides import Override
from ..core.tensor import TensorInfo
from ..core.text import shape_text
from .document import Block, Cell, Column, Document, Facts, Paragraph, Table
from .folded import folded, single

_COLUMNS = (
    Column("name", "name"),
    Column("shape", "shape"),
    Column("dtype", "dtype"),
    Column("parameters", "parameters", "int"),
    Column("component", "component", "component"),
    Column("layer", "layer", "int"),
    Column("role", "role"),
    Column("part", "part"),
    Column("file", "file"),
    Column("tied_to", "tied to"),
    Column("view_of", "view of"),
)


def in_order(tensors: Sequence[TensorInfo], sort: str | None) -> tuple[TensorInfo, ...]:
    """Largest first, by name, or by layer; as in the files for None."""
    if sort == "size":
        return tuple(sorted(tensors, key=lambda t: -(t.nbytes or t.parameters or 0)))
    if sort == "name":
        return tuple(sorted(tensors, key=lambda t: t.name))
    if sort == "layer":
        return tuple(sorted(tensors, key=lambda t: (t.part, t.stack or "", t.layer or -1)))
    return tuple(tensors)


def lay_out(
    title: str,
    tensors: Sequence[TensorInfo],
    *,
    fold: bool = False,
    sort: str | None = None,
    top: int | None = None,
    summary: str = "",
    changed: Sequence[Override] = (),
    assumed: str = "",
) -> Document:
    """Below what was ``changed`` and the class that was ``assumed`` one row a tensor, or with
    ``fold`` one for equal tensors of all layers; ``top`` rows of them. Columns from the right are
    left out on a narrow terminal."""
    every = folded(tensors) if fold else single(tensors)
    if fold and sort == "size":
        every.sort(key=lambda row: -(row.nbytes or row.parameters or 0))
    rows = every[:top]
    columns = (*_COLUMNS[:1], Column("tensors", "tensors", "int"), *_COLUMNS[1:])
    cells = tuple(
        (name, len(alike), *_cells(first)[1:3], fold_.parameters, *_cells(first)[4:])
        for fold_ in rows
        for name, first, alike in (fold_,)
    )
    used = [i for i, c in enumerate(columns) if _says_something(c.name, i, cells)]
    if fold:
        used = [i for i in used if columns[i].name not in ("layer", "file")]
    table = Table(
        tuple(columns[i] for i in used),
        tuple(tuple(row[i] for i in used) for row in cells),
        optional=tuple("dtype component tensors layer role part file tied_to view_of".split()),
        tools=True,
    )
    full = Table(_COLUMNS, tuple(_cells(tensor) for row in rows for tensor in row.tensors))
    blocks: list[Block] = [Facts((("changed", str(one)),)) for one in changed]
    if assumed:
        blocks.append(Facts((("class", assumed),)))
    blocks.append(table if cells else Paragraph("No tensor name matches."))
    remark = _remark(len(rows), len(every), len(tensors), fold)
    if remark:
        blocks.append(Paragraph(remark))
    return Document(title, tuple(blocks), full, summary)


def _remark(rows: int, every: int, tensors: int, fold: bool) -> str:
    """What the rows leave out, and how to see it."""
    texts = []
    if rows < every:
        texts.append(f"{rows:,} of {every:,} rows")
    if fold and every < tensors:
        texts.append(
            f"{tensors:,} tensors; equal tensors of all layers share a row; --all lists each"
        )
    return "; ".join(texts)


def _cells(t: TensorInfo) -> tuple[Cell, ...]:
    return (
        t.name,
        shape_text(t.shape),
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


def _says_something(name: str, at: int, rows: Sequence[tuple[object, ...]]) -> bool:
    dull: dict[str, object] = {
        "tensors": 1,
        "role": "parameter",
        "part": "text",
        "file": "",
        "tied_to": "",
        "view_of": "",
    }
    return name not in dull or any(row[at] != dull[name] for row in rows)
