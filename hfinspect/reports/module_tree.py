"""The layout of module trees: parameters and share, left of the tree that print(model) shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.json_form import SCHEMA_VERSION
from ..core.overrides import Override
from ..core.text import spelled
from ..trees.structure import Branch
from .document import Block, Cell, Column, Document, Facts, Paragraph, Preformatted, Table


class PartTree(NamedTuple):
    """The tree of one part: its name and class (empty for a single model), its modules, or why
    there are none."""

    name: str
    declared: str
    branches: Sequence[Branch] = ()
    problem: str = ""


def lay_out(
    title: str,
    parts: Sequence[PartTree],
    changed: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Document:
    """A tree for each part, below what was changed and above ``notes``; csv takes the modules as
    rows."""
    blocks: list[Block] = [Facts(tuple(("changed", text) for text in changed))] if changed else []
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
    blocks += [Paragraph(text, "note") for text in notes]
    known = all(part.branches for part in parts)
    summary = f"{spelled(total)} parameters" if known else ""
    return Document(title, tuple(blocks), Table(columns, tuple(rows)), summary)


def _row(part: str, branch: Branch, total: int) -> tuple[Cell, ...]:
    path = "/".join(filter(None, (part, branch.path))) or "."
    share = branch.parameters / total if total else None
    times, depth = branch.times, branch.depth
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


def to_dict(
    target: str,
    parts: Sequence[PartTree],
    overrides: Sequence[Override] = (),
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The JSON form, described by schemas/tree.schema.json: modules in order, ``depth`` says what
    is inside what."""
    return {
        "schema_version": SCHEMA_VERSION,
        "target": target,
        "overrides": [one.to_dict() for one in overrides],
        "notes": list(notes),
        "parts": [
            {
                "name": part.name,
                "class": part.declared,
                "problem": part.problem or None,
                "modules": [
                    {
                        "path": branch.path,
                        "class": branch.class_name,
                        "detail": branch.detail,
                        "count": branch.times,
                        "depth": branch.depth,
                        "parameters": branch.parameters,
                        "tied": branch.is_tied,
                    }
                    for branch in part.branches
                ],
            }
            for part in parts
        ],
    }
