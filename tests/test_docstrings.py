"""What docstrings promise: their examples run, and nothing public is without one."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import hfinspect

PACKAGE = Path(hfinspect.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
WITH_EXAMPLES = [path for path in MODULES if ">>> " in path.read_text()]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PACKAGE.parent)
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_every_module_says_what_it_is() -> None:
    """But for the empty files that make folders packages, and the one line of the version."""
    silent = [
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if path.read_text().count("\n") > 1 and not path.read_text().startswith('"""')
    ]
    assert silent == []


def test_every_public_name_says_what_it_is() -> None:
    public = [name for name in hfinspect.__all__ if name != "__version__"]
    assert [name for name in public if not getattr(hfinspect, name).__doc__] == []


def test_verbs_name_their_errors() -> None:
    for verb in (hfinspect.inspect, hfinspect.predict, hfinspect.explain, hfinspect.audit):
        assert "Raises" in (verb.__doc__ or ""), verb.__name__
