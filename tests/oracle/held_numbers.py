"""Sizes and counts that a trace holds to the values that were recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .tracing.changing import nested
from .tracing.gate import PATIENCE
from .tracing.library import Library, patience


def held_numbers(trace: Mapping[str, Any], name: str) -> dict[str, list[Any]]:
    """The keys of which every root of a class knows a few numbers alone, or a few lists of them;
    and those."""
    entry = trace["classes"][name]
    rules = [trace["guards"][root["guards"]] for root in (entry, *entry.get("or", ()))]
    numbers: dict[str, list[Any]] = {}
    for key in rules[0]:
        known = [rule.get(key, {}).get("is") or () for rule in rules]
        if all(
            any(map(_counted, values)) and all(v is None or _counted(v) for v in values)
            for values in known
        ):
            numbers[key] = [value for values in known for value in values]
    return numbers


def _counted(value: object) -> bool:
    """Whether it is a number or a list of some."""
    if isinstance(value, list):
        return bool(value) and all(map(_counted, value))
    return type(value) in (int, float)


def others_build(library: Library, kind: str, name: str, key: str, known: list[Any]) -> bool:
    """Whether the library builds the class with other numbers of a key, or another list of them:
    of answers to a question some classes take two alone."""
    start = next(iter(library.starts(kind, name)))
    tried: list[Any] = [1, 3, 4, 8, 16, 64]
    for one in (value for value in known if isinstance(value, list)):
        tried += [one[:-1], [*one, one[-1]], [*one[:-1], one[0]], [2 * n for n in one]]
    for value in (value for value in tried if value not in known):
        try:
            with patience(PATIENCE):
                library.run(kind, name, nested(start, {key: value}))
        except Exception:
            continue
        return True
    return False
