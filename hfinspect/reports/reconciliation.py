"""What stands beside a derivation: the size in the name, the measurement, somebody's own count."""

from __future__ import annotations

from ..core.explanation import Against, Convention, Explanation, NameSize
from .document import Block, Column, Facts, Paragraph, Table

#: Differences listed in text; all of them are in the JSON form.
MAX_DIFFERENCES = 30


def name_size_text(size: NameSize) -> str:
    """What the name says, and which count reaches it."""
    if size.reached:
        best = size.reached[0]
        others = "".join(f"; also {c.name}, {c.value:,}" for c in size.reached[1:2])
        return f"{size.text} says {size.says}: {best.name}, {best.value:,}{others}"
    nearest = size.nearest
    return (
        f"{size.text} says {size.says}: no usual count reaches it; the nearest is "
        f"{nearest.name}, {nearest.value:,}"
    )


def measured_blocks(e: Explanation) -> list[Block]:
    """Estimate and measurement by component, and every tensor that differs."""
    found = e.measured
    if found is None:
        return []
    columns = (
        Column("component", "component"),
        Column("derived", "derived", "int"),
        Column("measured", "in the files", "int"),
        Column("difference", "difference", "int"),
    )
    derived = {share.component: share.value for share in e.shares}
    rows = []
    for name in dict.fromkeys((*derived, *found.components)):
        mine, theirs = derived.get(name, 0), found.components.get(name, 0)
        if mine or theirs != 0:
            rows.append((name, mine, theirs, None if theirs is None else theirs - mine))
    whole = found.parameters
    rows.append(("total", e.parameters, whole, None if whole is None else whole - e.parameters))
    blocks: list[Block] = [Table(columns, tuple(rows), "Derived and measured", total=True)]
    if not found.complete:
        blocks.append(Paragraph("weight files are missing: the measurement is a lower bound",
                                "warning"))  # fmt: skip
    shown = found.differences[:MAX_DIFFERENCES]
    if shown:
        table = tuple((d.tensor, d.reason, d.parameters) for d in shown)
        blocks.append(
            Table(
                (Column("tensor", "tensor"), Column("reason", "difference"),
                 Column("parameters", "parameters", "int")),
                table, "Tensors that differ",
            )
        )  # fmt: skip
    more = len(found.differences) - len(shown)
    if more:
        blocks.append(Paragraph(f"{more:,} more tensors differ: see --format json", "note"))
    if found.unexplained:
        text = f"{found.unexplained:,} parameters of difference belong to no tensor named here"
        blocks.append(Paragraph(text, "warning"))
    if not found.differences and not found.unexplained and whole is not None:
        blocks.append(Paragraph("every tensor in the files is as derived"))
    return blocks


def against_blocks(e: Explanation) -> list[Block]:
    """Which conventions lead from the exact total to the other number."""
    found = e.against
    if found is None:
        return []
    items = [
        ("your count", f"{found.number:,}"),
        ("exact", f"{e.parameters:,}"),
        ("difference", _signed(found.difference)),
    ]
    blocks: list[Block] = [Facts(tuple(items))]
    if not found.difference:
        blocks.append(Paragraph("the two agree to the last parameter"))
        return blocks
    if not found.readings:
        blocks.append(
            Paragraph(
                f"no set of at most {found.at_most} out of {found.searched} usual conventions "
                "explains the difference"
            )
        )
        return blocks
    blocks.append(_reading(e, found.readings[0], "Why they differ"))
    for number, reading in enumerate(found.readings[1:], 2):
        blocks.append(Paragraph(f"reading {number}, as short: {_in_a_line(reading)}"))
    return blocks + _forms(found)


def _reading(e: Explanation, reading: tuple[Convention, ...], title: str) -> Table:
    columns = (
        Column("convention", "convention"),
        Column("formula", "formula", "math"),
        Column("parameters", "parameters"),
    )
    rows = [("exact total", "", f"{e.parameters:,}")]
    rows += [(c.text, c.delta.text if c.delta else "", _signed(c.value)) for c in reading]
    rows.append(("your count", "", f"{e.parameters + sum(c.value for c in reading):,}"))
    return Table(columns, tuple(rows), title, total=True, optional=("formula",))


def _in_a_line(reading: tuple[Convention, ...]) -> str:
    return "; ".join(f"{c.text} ({_signed(c.value)})" for c in reading)


def _signed(value: int) -> str:
    return f"{value:+,}".replace("-", "−")


def _forms(found: Against) -> list[Block]:
    if found.closed is None or found.other is None:
        return []
    blocks: list[Block] = [
        Facts(
            (
                ("right", f"{found.closed.text} = {found.closed.value:,}"),
                ("yours", f"{found.other.text} = {found.other.value:,}"),
            )
        )
    ]
    if found.terms:
        columns = (
            Column("term", "term", "math"),
            Column("right", "right", "math"),
            Column("other", "yours", "math"),
            Column("value", "of", "int"),
        )
        rows = tuple((t.text, t.right, t.other, t.value) for t in found.terms)
        blocks.append(Table(columns, rows, "Terms that differ"))
    return blocks
