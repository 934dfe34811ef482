"""What stands next to a derivation: the size in the name, the measurement, somebody's own count."""

import math
from collections.abc import Iterator, Sequence

from ..core.alternative_counts import Against, Convention, Measurement, NameSize, TensorDifference
from ..core.explanation import Explanation
from ..explaining.count_tree import numbered
from .document import Block, Column, Facts, Paragraph, Table

#: Rows of folded differences; all of them are in the JSON form.
MAX_DIFFERENCES = 20


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


def measured_text(e: Explanation, measurement: Measurement) -> str:
    """The count of the files next to the derived one, in a line."""
    if measurement.parameters is None:
        return "an unknown number of parameters"
    more = measurement.parameters - e.parameters
    return f"{measurement.parameters:,}, {abs(more):,} {'more' if more > 0 else 'fewer'}"


def measured_blocks(e: Explanation) -> list[Block]:
    """Estimate and measurement by component, and every tensor that differs."""
    measurement = e.measured
    if measurement is None:
        return []
    columns = (
        Column("component", "component"),
        Column("derived", "derived", "int"),
        Column("measured", "in the files", "int"),
        Column("difference", "difference", "int"),
    )
    derived = {share.component: share.value for share in e.shares}
    rows = []
    for name in dict.fromkeys((*derived, *measurement.components)):
        mine = derived.get(name, 0)
        theirs = measurement.components.get(name, 0)
        if mine or theirs != 0:
            rows.append((name, mine, theirs, None if theirs is None else theirs - mine))
    total = measurement.parameters
    rows.append(("total", e.parameters, total, None if total is None else total - e.parameters))
    blocks: list[Block] = [Table(columns, tuple(rows), "Derived and measured", total=True)]
    if not measurement.holds_all_files:
        blocks.append(
            Paragraph("weight files are missing; their tensors are not counted", "warning")
        )
    folded = _folded(measurement.differences)
    if folded:
        columns = (
            Column("tensor", "tensor"),
            Column("reason", "difference"),
            Column("tensors", "tensors", "int"),
            Column("parameters", "parameters", "int"),
        )
        blocks.append(Table(columns, tuple(folded[:MAX_DIFFERENCES]), "Tensors that differ"))
    more = sum(row[2] for row in folded[MAX_DIFFERENCES:])
    if more:
        blocks.append(Paragraph(f"{more:,} more tensors differ: see --format json", "note"))
    if measurement.unexplained:
        text = (
            f"{measurement.unexplained:,} parameters of the difference belong to tensors not "
            "listed here"
        )
        blocks.append(Paragraph(text, "warning"))
    if not measurement.differences and not measurement.unexplained and total is not None:
        blocks.append(Paragraph("every tensor in the files matches the derivation"))
    return blocks


def _folded(differences: Sequence[TensorDifference]) -> list[tuple[str, str, int, int]]:
    """Equal differences of numbered modules as one row: pattern, reason, tensors, parameters."""
    groups: dict[tuple[str, str, int], set[tuple[int, ...]]] = {}
    for d in differences:
        segments = d.tensor.split(".")
        numbers = tuple(int(s) for s in segments if _is_number(s))
        pattern = ".".join(
            "{}" if _is_number(s) else s.replace("{", "{{").replace("}", "}}") for s in segments
        )
        groups.setdefault((pattern, d.reason, d.parameters), set()).add(numbers)
    rows = []
    for (pattern, reason, one), members in groups.items():
        for box in _boxes(members):
            many = math.prod(map(len, box))
            names = (numbered(tuple(sorted(numbers)), False) for numbers in box)
            rows.append((pattern.format(*names), reason, many, many * one))
    return rows


def _is_number(segment: str) -> bool:
    return segment.isdecimal() and segment.isascii() and len(segment) < 10


def _boxes(members: set[tuple[int, ...]]) -> list[tuple[frozenset[int], ...]]:
    """Tuples of numbers as products of sets: the last numbers joined first."""
    boxes = [tuple(frozenset([number]) for number in member) for member in sorted(members)]
    for at in reversed(range(len(boxes[0]))):
        joined: dict[tuple[frozenset[int], ...], frozenset[int]] = {}
        for box in boxes:
            rest = (*box[:at], *box[at + 1 :])
            joined[rest] = joined.get(rest, frozenset()) | box[at]
        boxes = [(*rest[:at], some, *rest[at:]) for rest, some in joined.items()]
    return boxes


def against_facts(e: Explanation) -> Iterator[tuple[str, str]]:
    """The other number, and the conventions that lead to it, the best reading first."""
    against = e.against
    if against is not None:
        yield "your count", _given_count(against)
        yield "best reading", _verdict(e, against)
        for number, reading in enumerate(against.readings[1:], 2):
            yield f"reading {number}", _in_a_line(reading)


def against_blocks(e: Explanation) -> list[Block]:
    """The best reading line by line, and the closed forms of the two."""
    against = e.against
    return (
        [] if against is None or not against.readings else [_reading(e, against), *_forms(against)]
    )


def _given_count(against: Against) -> str:
    if not against.rounded:
        return against.text
    low, high = against.fits
    return f"{against.text}: from {low:,} to {high - 1:,}, rounded"


def _verdict(e: Explanation, against: Against) -> str:
    exact = f"{e.parameters:,}"
    if against.agrees:
        return (
            f"the exact {exact}{' rounds to it' if against.rounded else ', to the last parameter'}"
        )
    if against.readings:
        text = _in_a_line(against.readings[0])
        return f"a guess: {text}; the exact total is {exact}" if against.rounded else text
    if against.rounded:
        known = against.known
        has = f"; {known.name} has {known.value / 10**6:,.1f} M" if known is not None else ""
        return f"none: no usual convention gives it{has}"
    return (
        f"none: no combination of up to {against.at_most} of {against.searched} usual conventions "
        f"gives the difference of {_signed(against.difference)}"
    )


def _reading(e: Explanation, against: Against) -> Table:
    columns = (
        Column("convention", "convention"),
        Column("formula", "formula", "math"),
        Column("parameters", "parameters", "int"),
    )
    reading = against.readings[0]
    rows = [("exact total", "", f"{e.parameters:,}")]
    rows += [(c.text, c.delta.text if c.delta else "", _signed(c.value)) for c in reading]
    whose = f"rounds to {against.text}" if against.rounded else "your count"
    rows.append((whose, "", f"{e.parameters + sum(c.value for c in reading):,}"))
    return Table(columns, tuple(rows), "Why they differ", total=True, optional=("formula",))


def _in_a_line(reading: tuple[Convention, ...]) -> str:
    return "; ".join(f"{c.text} ({_signed(c.value)})" for c in reading)


def _signed(value: int) -> str:
    return f"{value:+,}".replace("-", "−")


def _forms(against: Against) -> list[Block]:
    if against.closed is None or against.other is None:
        return []
    blocks: list[Block] = [
        Facts(
            (
                ("right", f"{against.closed.text} = {against.closed.value:,}"),
                ("yours", f"{against.other.text} = {against.other.value:,}"),
            )
        )
    ]
    if against.terms:
        columns = (
            Column("term", "term", "math"),
            Column("right", "right", "math"),
            Column("other", "yours", "math"),
            Column("value", "parameters", "int"),
        )
        rows = tuple((t.text, t.right, t.other, t.value) for t in against.terms)
        blocks.append(Table(columns, rows, "Terms that differ"))
    return blocks
