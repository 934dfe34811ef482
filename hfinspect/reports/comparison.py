"""The layout of a comparison: models side by side, then what differs."""

from __future__ import annotations

import json
from typing import Any

from ..analysis.count import per_layer
from ..analysis.differences import Change, Comparison, Difference, ranges
from ..core.results import Inspection
from ..core.text import byte_size, spelled
from .document import Block, Cell, Column, Document, Paragraph, Table

#: Rows of one table of differences; the rest is counted (all are in the JSON form).
MAX_ROWS = 40

_SIGNS = {"only_here": "-", "only_there": "+", "shape": "shape", "dtype": "dtype",
          "packing": "packing"}  # fmt: skip

_VERDICTS = {"packing": "packed differently", "dtype": "in other dtypes"}


def lay_out(comparison: Comparison) -> Document:
    """The first model is what the others are compared with: ``-`` is only in the first."""
    table = _side_by_side(comparison.inspections)
    blocks: list[Block] = [table]
    for difference in comparison.differences:
        blocks += _difference(comparison.inspections[0].target, difference)
    return Document("", tuple(blocks), table)


def _side_by_side(models: tuple[Inspection, ...]) -> Table:
    rows: list[tuple[Cell, ...]] = []

    def row(label: str, *cells: Cell) -> None:
        if any(cell not in (None, "", 0) for cell in cells):
            rows.append((label, *cells))

    row("architecture", *[m.architecture or "unknown" for m in models])
    row("model_type", *[m.model_type or "unknown" for m in models])
    row("source", *[m.source if m.format is None else m.format for m in models])
    row("parameters", *[_count(m.parameters) for m in models])
    row("  in words", *[spelled(m.parameters) if m.parameters else "" for m in models])
    row("active", *[_count(m.active_parameters) if m.active_parameters else "" for m in models])
    names = dict.fromkeys(name for m in models for name in m.components)
    for name in names:
        cells = [m.components[name].parameters if name in m.components else 0 for m in models]
        if any(cell != 0 for cell in cells):
            rows.append((f"  {name}", *[_count(cell) for cell in cells]))
    layers = [per_layer(m.tensors) for m in models]
    for name in names:
        spans = [found.get(name) for found in layers]
        row(f"  {name} per layer", *[_span(span) for span in spans])
    row("dtypes", *[", ".join(m.dtypes) for m in models])
    row("quantised", *[m.quantization.method if m.quantization else "" for m in models])
    row("bytes", *[byte_size(m.nbytes) if m.nbytes is not None else "unknown" for m in models])
    row("16-bit memory", *[byte_size(m.memory["16-bit"]) if m.memory else "" for m in models])
    columns = [Column("property", "")]
    columns += [Column(m.target, _short(m)) for m in models]
    return Table(tuple(columns), tuple(rows))


def _short(model: Inspection) -> str:
    """Long paths make a table unreadable; their ends tell them apart."""
    name = model.target.rstrip("/")
    return name if len(name) <= 28 else "…" + name[-27:]


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _span(span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    least, most = span
    return f"{least:,}" if least == most else f"{least:,} - {most:,}"


def _verdict(difference: Difference) -> str:
    kinds = {change.kind for change in difference.changes}
    words = ["identical in structure" if difference.same_structure else "different in structure"]
    words += [text for kind, text in _VERDICTS.items() if kind in kinds]
    return ", ".join(words)


def _difference(first: str, difference: Difference) -> list[Block]:
    blocks: list[Block] = [Paragraph(f"{first} and {difference.target}: {_verdict(difference)}")]
    if difference.config:
        keys = (Column("key", "config key"), Column("here", "first"), Column("there", "other"))
        changed = list(difference.config.items())[:MAX_ROWS]
        blocks.append(Table(keys, tuple((key, _value(a), _value(b)) for key, (a, b) in changed)))
    if difference.changes:
        columns = (
            Column("change", ""),
            Column("tensors", "tensors"),
            Column("here", "first"),
            Column("there", "other"),
        )
        blocks.append(Table(columns, tuple(map(_change, difference.changes[:MAX_ROWS]))))
    hidden = max(len(difference.changes) - MAX_ROWS, 0) + max(len(difference.config) - MAX_ROWS, 0)
    if hidden:
        blocks.append(Paragraph(f"{hidden} more rows are in --format json", "note"))
    return blocks


def _change(change: Change) -> tuple[Cell, ...]:
    many_layers = "s" if len(change.layers) > 1 else ""
    where = f"layer{many_layers} {ranges(change.layers)}: " if change.layers else ""
    name = change.name
    if change.layers and ".N." in name:
        name = name.split(".N.", 1)[1] if change.kind != "shape" else name
    many = f" ({change.count})" if change.count > max(len(change.layers), 1) else ""
    return (_SIGNS[change.kind], f"{where}{name}{many}", change.here or "", change.there or "")


def _value(value: Any) -> str:
    text = json.dumps(value) if value is not None else ""
    return text if len(text) <= 40 else text[:37] + "..."
