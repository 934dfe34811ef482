"""The layout of what all rows of a scan come to."""

from collections.abc import Iterator
from typing import Final

from ..core.scan_summary import RowGroups, ScanSummary, SizeClass
from ..core.text import byte_size, first_of, rounded_count
from .document import Block, Cell, Column, Document, Facts, Paragraph, Table
from .drawings import Chapter
from .page_names import page_names

#: Column of the rows -> what a group of it is called, one and all of them.
_TITLES: Final = {
    "architecture": ("architecture", "Architectures"),
    "model_type": ("model type", "Model types"),
    "dtype": ("dtype", "Dtypes"),
    "quantization": ("method", "Quantisation"),
    "context": ("tokens", "Context lengths"),
    "license": ("licence", "Licences"),
    "library": ("library", "Libraries"),
    "task": ("task", "Tasks"),
}


def lay_out(summary: ScanSummary) -> Document:
    """Rows and failures, sizes, components by size, then a chapter for each column."""
    blocks: list[Block] = [Facts(tuple(_facts(summary)))]
    blocks += [Paragraph(note, "note") for note in summary.notes]
    sizes = _sizes(summary)
    blocks.append(Chapter("sizes", "Parameters", (sizes,)))
    parts = [one for one in summary.sizes if one.models and sum(one.components.values())]
    if parts:
        blocks.append(Chapter("components", "Components by size", (_components(parts),)))
    for group in summary.groups:
        if group.groups and any(one.models for one in group.groups):
            title = _TITLES[group.column][1]
            blocks.append(Chapter(group.column, title, tuple(_group(group, summary))))
    if summary.failures:
        blocks.append(Chapter("failures", "Failures", (_failures(summary),)))
    (name,) = page_names([(summary.target.rstrip("/"), None)])
    return Document(f"Report of {name}", tuple(blocks), sizes, _verdict(summary))


def _verdict(summary: ScanSummary) -> str:
    failed = summary.rows - summary.ok
    rows = f"{summary.rows:,} row{'' if summary.rows == 1 else 's'}: {summary.ok:,} models read"
    return rows + (f", {failed:,} failed" if failed else "")


def _facts(summary: ScanSummary) -> Iterator[tuple[str, str]]:
    by = ", by the Hub's own count" if summary.counted_by == "hub" else ""
    unknown = summary.ok - summary.counted
    rounded = rounded_count(summary.parameters)
    text = f"{summary.parameters:,} ({rounded}) in {summary.counted:,} models{by}"
    yield "parameters", text + (f", unknown of {unknown:,}" if unknown else "")
    if summary.sized:
        size = f"{summary.nbytes:,} ({byte_size(summary.nbytes)}) in {summary.sized:,} models"
        left = summary.ok - summary.sized
        yield "bytes", size + (f", unknown of {left:,}" if left else "")
    for group in summary.groups:
        if group.column == "architecture" and group.groups:
            first = group.groups[0]
            least = "more than " if group.bounded else ""
            share = f"{first.models / summary.ok:.1%}"
            text = f"{least}{group.different:,}; the most frequent is {first.name} ({share})"
            yield "architectures", text
    if summary.failures:
        kinds = [f"{count:,} {kind}" for kind, count in summary.failures.items()]
        yield "failed", first_of(kinds, 6, "more kinds")


def _table(
    head: str, rows: list[tuple[str, int, int]], total: int, title: str, unit: str = "models"
) -> Table:
    """(name, models, parameters) with the share of all models, as a number and as a bar."""
    most = max((row[1] for row in rows), default=0) or 1
    columns = (
        Column("name", head),
        Column("models", unit, "int"),
        Column("share", "share", "share"),
        Column("bar", "", "bar"),
        Column("sum", "sum of parameters", "int"),
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (name, models, models / (total or 1), (("mlp", models / most),), parameters)
        for name, models, parameters in rows
    )
    return Table(columns, cells, title, optional=("sum", "bar"))


def _sizes(summary: ScanSummary) -> Table:
    rows = [(_range(one), one.models, one.parameters) for one in summary.sizes]
    unknown = summary.ok - summary.counted
    rows += [("unknown", unknown, 0)] if unknown else []
    return _table("parameters of a model", rows, summary.ok, "Models by number of parameters")


def _range(one: SizeClass) -> str:
    if one.high is None:
        return f"{_round(one.low)} and more"
    return (
        f"{_round(one.low)} to {_round(one.high)}" if one.low else f"less than {_round(one.high)}"
    )


def _round(number: int) -> str:
    for size, unit in ((10**9, "B"), (10**6, "M"), (10**3, "K")):
        if number >= size:
            return f"{number // size:,}{unit}"
    return str(number)


def _components(classes: list[SizeClass]) -> Table:
    """What the models of a size consist of, together: a bar in pieces and shares."""
    shown = [name for name in classes[0].components if any(one.components[name] for one in classes)]
    columns = (
        Column("name", "parameters of a model"),
        Column("bar", "", "bar"),
        *(Column(name, name, "share") for name in shown),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in classes:
        total = sum(one.components.values())
        shares = [one.components[name] / total for name in shown]
        rows.append((_range(one), tuple(zip(shown, shares, strict=True)), *shares))
    title = "Share of the parameters of all models of a size"
    return Table(columns, tuple(rows), title, optional=("bar", *reversed(shown[3:])))


def _group(group: RowGroups, summary: ScanSummary) -> Iterator[Block]:
    head, title = _TITLES[group.column]
    rows = [(one.name, one.models, one.parameters) for one in group.groups if one.models]
    if group.others.models:
        least = "more than " if group.bounded else ""
        name = f"{least}{group.different - len(group.groups):,} others"
        rows.append((name, group.others.models, group.others.parameters))
    if group.without.models:
        # A model that was read and has no method of quantisation is not quantised.
        name = "none" if group.column == "quantization" else "not stated"
        rows.append((name, group.without.models, group.without.parameters))
    yield _table(head, rows, summary.ok, f"Models by {head}" if head != "tokens" else title)


def _failures(summary: ScanSummary) -> Table:
    rows = [(kind, count, 0) for kind, count in summary.failures.items()]
    return _table("error", rows, summary.rows, "Rows without a model, by kind of error", "rows")
