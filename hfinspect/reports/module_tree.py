"""The layout of module trees: parameters and share, left of the tree that print(model) shows."""

from collections.abc import Sequence

from ..core.json_form import JsonDocument, JsonForm
from ..core.overrides import Override
from ..core.records import dataclass
from ..core.text import rounded_count
from ..trees.structure import Branch
from .document import Block, Cell, Column, Document, Facts, Paragraph, Preformatted, Table


@dataclass(frozen=True)
class PartTree(JsonForm, names={"declared": "class", "branches": "modules"}):
    """The tree of one part.

    Fields:
        name: of the part
        declared: as the pipeline names it; empty for a single model
        problem: why there are no modules
        branches: the modules
    """

    name: str
    declared: str
    problem: str | None = None
    branches: Sequence[Branch] = ()


@dataclass(frozen=True)
class ModuleTrees(JsonDocument):
    """The trees of a model's parts, in the order of ``print(model)``.

    Fields:
        target: the model as it was named
        overrides: config keys that were changed for this answer
        notes: such as a changed key that changes no tensor
        parts: one without a name for a single model, one for every component of a pipeline
    """

    target: str
    overrides: Sequence[Override]
    notes: Sequence[str]
    parts: Sequence[PartTree]


def lay_out(title: str, trees: ModuleTrees) -> Document:
    """A tree for each part, below what was changed and above the notes; csv takes the modules as
    rows."""
    parts = trees.parts
    changes = tuple(("changed", str(one)) for one in trees.overrides)
    blocks: list[Block] = [Facts(changes)] if changes else []
    total = sum(part.branches[0].parameters for part in parts if part.branches)
    rows: list[tuple[Cell, ...]] = []
    for part in parts:
        if part.name:
            blocks.append(Paragraph(f"{part.name} ({part.declared})"))
        if part.problem:
            blocks.append(Paragraph(f"no tree: {part.problem}", "warning"))
            continue
        blocks.append(Preformatted("\n".join(_lines(part.branches, total)), "text"))
        rows += [_row(part.name, branch, total) for branch in part.branches]
    columns = (
        Column("path", "path"),
        Column("class", "class"),
        Column("detail", "detail"),
        Column("count", "count", "int"),
        Column("depth", "depth", "int"),
        Column("parameters", "parameters", "int"),
        Column("share", "share", "share"),
    )
    blocks += [Paragraph(text, "note") for text in trees.notes]
    known = all(part.branches for part in parts)
    summary = f"{rounded_count(total)} parameters" if known else ""
    return Document(title, tuple(blocks), Table(columns, tuple(rows)), summary)


def _row(part: str, branch: Branch, total: int) -> tuple[Cell, ...]:
    path = "/".join(filter(None, (part, branch.path))) or "."
    share = branch.parameters / total if total else None
    times = branch.times
    depth = branch.depth
    return (path, branch.class_name, branch.detail, times, depth, branch.parameters, share)


def _lines(branches: Sequence[Branch], total: int) -> list[str]:
    """Numbers first: they stand in one column however deep the tree is."""
    wide = max(len(f"{branch.parameters:,}") for branch in branches)
    blank = " " * (wide + 8)
    lines: list[str] = []
    closing: list[int] = []
    for branch in branches:
        while closing and branch.depth <= closing[-1]:
            lines.append(f"{blank}  {'  ' * closing.pop()})")
        lines.append(f"{_numbers(branch, wide, total)}  {'  ' * branch.depth}{branch.label}")
        if branch.is_open:
            closing.append(branch.depth)
    lines += [f"{blank}  {'  ' * depth})" for depth in reversed(closing)]
    return lines


def _numbers(branch: Branch, wide: int, total: int) -> str:
    if not branch.parameters:
        return f"{'tied' if branch.is_tied else '':>{wide}}{'':8}"
    return f"{branch.parameters:>{wide},}{branch.parameters / total:>8.1%}"
