"""What the package imports is what it declares."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from ..cli.program import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Distribution -> the module that it brings, where their names differ.
MODULES = {"huggingface-hub": "huggingface_hub"}


def modules(requirements: list[str]) -> set[str]:
    names = (re.split(r"[\s\[<>=!~;]", text, maxsplit=1)[0].lower() for text in requirements)
    return {MODULES.get(name.replace("_", "-"), name.replace("-", "_")) for name in names}


BASE = modules(PROJECT["dependencies"])
EXTRA = {
    module
    for name, requirements in PROJECT["optional-dependencies"].items()
    if name not in ("test", "dev", "install", "oracle", "notebooks")
    for module in modules(requirements)
}


#: The top-level module of a line that begins like an import.
LINE = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)


def is_foreign(top: str) -> bool:
    return top not in sys.stdlib_module_names and top != "hfinspect"


@cache
def imports() -> frozenset[tuple[str, str, bool]]:
    """(file, top-level module of others, whether it is imported with its file)."""
    return frozenset(_imports())


def _imports() -> Iterator[tuple[str, str, bool]]:
    for path in (ROOT / "hfinspect").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(map(is_foreign, LINE.findall(text))):
            continue  # parsing all of the package takes seconds
        tree = ast.parse(text)
        at_top = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in names:
                top = name.partition(".")[0]
                if is_foreign(top):
                    yield path.name, top, id(node) in at_top


def test_every_import_is_declared() -> None:
    assert {module for _, module, _ in imports()} <= BASE | EXTRA


def test_what_is_imported_with_a_file_is_no_extra() -> None:
    """An extra that is not installed must not keep a module from being imported."""
    assert {
        (file, module) for file, module, at_top in imports() if at_top and module not in BASE
    } == set()


def test_every_base_dependency_is_used() -> None:
    assert BASE - {module for _, module, _ in imports()} == set()


def test_versions_and_classifiers_agree() -> None:
    """The least Python of ``requires-python`` is the first of the classifiers."""
    versions = [
        text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)
    ]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert versions == [f"3.{minor}" for minor in range(10, 10 + len(versions))]
