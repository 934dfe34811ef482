"""An engine is one file: a new one cannot be half there, and no other file compares its name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hfinspect
from hfinspect.core.choices import ENGINES as NAMES
from hfinspect.core.footprint import Workspace
from hfinspect.sizing.engines.interface import RowPerToken
from hfinspect.sizing.engines.logical import Logical
from hfinspect.sizing.engines.registry import ENGINES

PACKAGE = Path(hfinspect.__file__).parent
#: Where a name is a default that users see, or a library of that name.
DEFAULTS = ("api.py", "cli/", "scanning/engine.py", "core/choices.py")


class _Half(RowPerToken):
    name = "half"
    version = "1"


class _Unsaid(_Half):
    """All methods, and no word on its dtypes."""

    def workspace(self, limit: object, context: int, batch: int) -> Workspace:
        raise NotImplementedError

    def unknown_layouts(self, layers: object) -> object:  # type: ignore[override]
        return iter(())


def test_an_engine_that_leaves_a_rule_out_does_not_start() -> None:
    with pytest.raises(TypeError, match="abstract method"):
        _Half()  # type: ignore[abstract]
    with pytest.raises(TypeError, match="_Unsaid does not say cache_dtypes, default_cache_dtype"):
        _Unsaid()
    assert Logical().name == "logical"


def test_each_engine_is_listed_once() -> None:
    assert tuple(ENGINES) == NAMES
    assert len({type(engine) for engine in ENGINES.values()}) == len(NAMES)


def test_no_other_file_compares_the_name_of_an_engine() -> None:
    compared = [
        f"{inner}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for inner in [path.relative_to(PACKAGE).as_posix()]
        if not inner.startswith(("sizing/engines/", *DEFAULTS))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare) and _engines_in(node) and "engine" in ast.dump(node)
    ]
    assert compared == []


def _engines_in(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Constant) and one.value in NAMES for one in ast.walk(node))
