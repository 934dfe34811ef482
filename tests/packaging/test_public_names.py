"""A public name is written once, in ``_HOMES``; ``__all__`` and the typed imports follow."""

from __future__ import annotations

import importlib

import pytest

import hfinspect

from . import public_names


def test_what_follows_is_written() -> None:
    text = public_names.FILE.read_text(encoding="utf-8")
    assert public_names.written(text) == text, "run python -m tests.packaging.public_names"
    shortened = text.replace('"__version__", "audit",', '"__version__",')
    assert shortened != text
    assert public_names.written(shortened) == text


@pytest.mark.parametrize(("module", "names"), sorted(public_names.homes().items()))
def test_each_name_is_that_of_its_module(module: str, names: tuple[str, ...]) -> None:
    home = importlib.import_module(f"hfinspect.{module}")
    for name in names:
        assert getattr(hfinspect, name) is getattr(home, name)
        assert hfinspect.__dict__[name] is getattr(home, name), "kept after the first use"


def test_no_name_stands_twice() -> None:
    names = [name for names in public_names.homes().values() for name in names]
    assert len(names) == len(set(names))
    assert hfinspect.__dir__() == sorted([*names, *public_names.OWN])
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = hfinspect.nothing
