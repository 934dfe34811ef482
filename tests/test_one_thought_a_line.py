"""One thought a line: unrelated values are assigned on lines of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: A file without such a line needs no closer look.
PERHAPS = re.compile(r"^\s*\(?\w[^=\n]*,[^=\n]* = |^\s*\) = ", re.MULTILINE)


def packed(text: str) -> Iterator[int]:
    """Lines of assignments ``a, b = x, y`` in which no value reads what the assignment changes."""
    if not PERHAPS.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)):
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(node.value.elts):
            continue
        if not _texts(target) & _texts(node.value):
            yield node.lineno


def _texts(tree: ast.AST) -> set[str]:
    """Names and attributes in an expression, as they are written."""
    return {
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)
    }


@pytest.mark.parametrize(
    ("line", "is_packed"),
    [
        ("a, b = 1, f(2)", True),
        ("self.a, self.b = x, y", True),
        ("a, b = b, a", False),
        ("low, high = middle, high", False),
        ("a, b = pair", False),
    ],
)
def test_what_is_packed(line: str, is_packed: bool) -> None:
    assert bool(list(packed(line))) is is_packed


@pytest.mark.parametrize("folder", ["hfinspect", "tests"])
def test_unrelated_values_have_lines_of_their_own(folder: str) -> None:
    places = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in packed(path.read_text(encoding="utf-8"))
    ]
    assert places == [], "write one assignment a line"
