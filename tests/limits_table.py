"""The limits of the package, read off its constants: the table of docs/security.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import hfinspect

PACKAGE = Path(hfinspect.__file__).parent
#: Rooms that read what strangers wrote.
ROOMS = ("auditing", "checkpoints", "core", "formats", "scanning", "sources")
_LIMIT = re.compile(r"_?(?:MAX_[A-Z0-9_]+|[A-Z0-9_]+_(?:TIMEOUT|SECONDS|LIMIT|DEADLINE))")


class Limit(NamedTuple):
    file: str
    name: str
    value: float
    reason: str


def limits() -> list[Limit]:
    """Every named limit, in the order of files and lines."""
    paths = sorted(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py"))
    return [limit for path in paths for limit in _limits_of(path)]


def _limits_of(path: Path) -> Iterator[Limit]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        target = node.target if isinstance(node, ast.AnnAssign) else target
        if not isinstance(target, ast.Name) or not _LIMIT.fullmatch(target.id):
            continue
        value = _number(node.value) if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if value is not None:
            file = path.relative_to(PACKAGE).as_posix()
            yield Limit(file, target.id, value, _comment(lines, node.lineno - 1))


def _number(node: ast.expr | None) -> float | None:
    """Of an expression of numbers alone."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.BinOp):
        left = _number(node.left)
        right = _number(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Pow):
            return float(left**right) if isinstance(left, float) else int(left) ** int(right)
        if isinstance(node.op, ast.LShift):
            return int(left) << int(right)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return left + right if isinstance(node.op, ast.Add) else left - right
        raise ValueError(f"a limit is computed by {type(node.op).__name__}")
    return None


def _comment(lines: list[str], at: int) -> str:
    """The ``#:`` comment in front of a line."""
    comments: list[str] = []
    while at and lines[at - 1].startswith("#"):
        at -= 1
        comments.append(lines[at].lstrip("#: "))
    return " ".join(reversed(comments))


def table() -> str:
    """Each file's limits, with what each counts: the first part of its comment, whose whole stands
    next to the constant."""
    rows = ["| limit | value | counts |", "| --- | ---: | --- |"]
    for file, of_file in groupby(limits(), key=lambda limit: limit.file):
        rows.append(f"| **{file}** | | |")
        for _, name, value, reason in of_file:
            shown = f"{value:,}" if value < 2**62 else f"2^{int(value).bit_length() - 1}"
            counts = re.split(r"[:;]\s|\.(?:\s|$)", reason)[0].replace("|", "\\|")
            rows.append(f"| `{name}` | {shown} | {counts} |")
    return "\n".join(rows)
