"""The words that a library's code compares a key of the config with: what its values may be."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache


def compared(cls: type, package: str) -> Mapping[str, set[str]]:
    """Name -> words that the modules of a class and its bases compare it with, in any method."""
    keys: dict[str, set[str]] = {}
    for module in {base.__module__ for base in cls.__mro__ if base.__module__.startswith(package)}:
        for name, words in _of_source(inspect.getsource(sys.modules[module])).items():
            keys.setdefault(name, set()).update(words)
    return keys


@cache
def _of_source(source: str) -> Mapping[str, set[str]]:
    """The same of one module: ``self.config.pooling == "mean"``, ``pooling in ("bos", "mean")``."""
    keys: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = [side.attr for side in sides if isinstance(side, ast.Attribute)]
            names += [side.id for side in sides if isinstance(side, ast.Name)]
            names += [
                side.value.attr
                for side in sides
                if isinstance(side, ast.Subscript) and isinstance(side.value, ast.Attribute)
            ]
            for name in names:
                keys.setdefault(name, set()).update(w for side in sides for w in _words(side))
    return {name: words for name, words in keys.items() if words}


def _words(side: ast.expr) -> Iterator[str]:
    if isinstance(side, ast.Constant) and isinstance(side.value, str):
        yield side.value
    elif isinstance(side, (ast.List, ast.Tuple, ast.Set)):
        for item in side.elts:
            yield from _words(item)
