"""A name of a type means one thing: who has read one file understands the name in every other."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "hfinspect"
#: How a type is called, in difference to a constant (``MAX_ROWS``).
TYPE_NAME = re.compile(r"_?[A-Z][a-z]\w*")


def types_of(text: str) -> Iterator[str]:
    """Classes and names for types (``Row = dict[str, Value]``), but for type variables; an
    underscore at the beginning makes no other name."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name.lstrip("_")
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        variable = "TypeVar(" in ast.unparse(node)
        for target in targets:
            if isinstance(target, ast.Name) and TYPE_NAME.fullmatch(target.id) and not variable:
                yield target.id.lstrip("_")


def files_by_type(texts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Name -> files that have one of it."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for file, text in texts:
        for name in types_of(text):
            files[name].append(file)
    return dict(files)


@cache
def package_types() -> dict[str, list[str]]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return files_by_type((p.relative_to(PACKAGE).as_posix(), p.read_text("utf-8")) for p in paths)


def test_no_two_types_have_one_name() -> None:
    named = package_types()
    assert len(named) > 700
    assert {name: files for name, files in named.items() if len(files) > 1} == {}


def test_what_counts_as_one_name() -> None:
    texts = [
        ("a.py", "class Row(tuple):\n    class Cell: pass\n"),
        ("b.py", "_Row = dict[str, int]\nT = Other = TypeVar('Other')\nMAX_ROWS = 3\n"),
        ("c.py", "def f():\n    class _Cell: pass\nOther: TypeAlias = int\n"),
    ]
    assert files_by_type(texts) == {
        "Row": ["a.py", "b.py"],
        "Cell": ["a.py", "c.py"],
        "Other": ["c.py"],
    }
