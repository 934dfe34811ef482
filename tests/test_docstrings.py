"""What docstrings promise: their examples run, and nothing public is without one."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import hfinspect

from . import python_fields

PACKAGE = Path(hfinspect.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
WITH_EXAMPLES = [path for path in MODULES if ">>> " in path.read_text()]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PACKAGE.parent)
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    test_results = doctest.testmod(module)
    assert test_results.attempted > 0
    assert test_results.failed == 0


def test_every_module_says_what_it_is() -> None:
    """But for the empty files that make folders packages, and the one line of the version."""
    silent = [
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if path.read_text().count("\n") > 1 and not path.read_text().startswith('"""')
    ]
    assert silent == []


def test_every_shared_layer_says_what_it_is() -> None:
    """Its formula or shapes; what each file is made from stands at its head."""
    silent = [
        f"{path.stem}.{node.name}"
        for path in sorted((PACKAGE / "layers").glob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert silent == []


def test_every_public_name_says_what_it_is() -> None:
    """Aliases of types are described where they stand."""
    public = {name: getattr(hfinspect, name) for name in hfinspect.__all__}
    described = {
        name: thing.__doc__
        for name, thing in public.items()
        if inspect.isclass(thing) or inspect.isfunction(thing) or inspect.ismodule(thing)
        if not hasattr(thing, "__origin__")  # Python 3.10 takes some aliases for classes
    }
    assert [name for name, text in described.items() if not text] == []


def test_every_field_of_a_public_type_has_a_line() -> None:
    """In the order of the fields; ``ModelFacts`` has them in the fields themselves."""
    differing = {
        name: (fields, documented)
        for name, fields in python_fields.public_types().items()
        if (documented := [line.name for line in python_fields.documented(name)]) != fields
    }
    assert differing == {}


def test_a_field_is_described_once() -> None:
    """Where it has a line, the words above the lines do not say it again."""
    twice = [
        f"{path.stem}.{node.name}.{name}"
        for path in MODULES
        if "Fields:" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        for above, _, lines in [(ast.get_docstring(node) or "").partition("Fields:\n")]
        for name in re.findall(r"^    (\w+)(?: \[.+?\])?: ", lines, re.MULTILINE)
        if f"``{name}``" in above
    ]
    assert twice == []


def test_what_public_signatures_name_is_exported() -> None:
    assert python_fields.named_and_not_exported() == {}


def test_verbs_name_their_errors() -> None:
    for verb in (hfinspect.inspect, hfinspect.predict, hfinspect.explain, hfinspect.audit):
        assert "Raises" in (verb.__doc__ or ""), verb.__name__
