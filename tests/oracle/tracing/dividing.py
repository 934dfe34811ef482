"""Which keys have to divide which: attention refuses heads that do not divide its width.

The library raises before there is a shape, so no comparison shows it, and a trace that computes its
sizes from the width alone would answer for a model that cannot exist.  Found by experiment, as all
guards are: a number that does not divide the other raises in every config that is tried, and next
to each such config stands one that differs in this alone, divides, and is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from random import Random
from typing import Any

from hfinspect.errors import HfinspectError

from .changing import IDLE, flattened, nested
from .gate import predicted
from .library import Given, Library, patience

#: Last names of keys that divide others.
_DIVISOR = re.compile(r"(heads?|groups?|head_kv)$")
#: Seconds for one build.
_PATIENCE = 10.0
#: Other configs that have to agree, and how many are tried for them.
_AGREEING = 4
_TRIED = 24


def with_divisors(library: Library, kind: str, trace: Mapping[str, Any]) -> dict[str, Any]:
    """The trace with a guard for each key that has to divide others: ``{"heads": {"divides":
    ["width"]}}``, in the roots of the classes that answer although it does not."""
    divisors: dict[str, list[tuple[str, str]]] = {}
    pairs: list[tuple[str, str]] = []
    for name in trace["classes"]:
        start = _buildable(library, kind, name)
        if start is None:
            continue
        if not pairs:
            pairs = list(_pairs(library, kind, name, start))
        kept = [pair for pair in pairs if _answered(library, kind, name, trace, start, pair)]
        if kept:
            divisors[name] = kept
    if not divisors:
        return dict(trace)
    return _guarded(library, kind, trace, divisors)


def _guarded(
    library: Library, kind: str, trace: Mapping[str, Any], guards: Mapping[str, Any]
) -> dict[str, Any]:
    rules: list[dict[str, Any]] = []
    defaults = dict(trace["defaults"])
    classes = {}
    for name, entry in trace["classes"].items():
        whole = library.full(kind, name, {}) if name in guards else {}
        full = flattened(whole, library.sections(kind, name)) if whole else {}
        pairs = [
            pair for pair in guards.get(name, ()) if all(type(full.get(k)) is int for k in pair)
        ]
        for key in (key for pair in pairs for key in pair):
            defaults.setdefault(key, full[key])
        roots = [
            _root(root, trace["guards"][root["guards"]], pairs, rules)
            for root in (entry, *entry.get("or", ()))
        ]
        classes[name] = {**roots[0], "or": roots[1:]} if "or" in entry else roots[0]
    return {
        **trace,
        "classes": classes,
        "guards": rules,
        "defaults": dict(sorted(defaults.items())),
    }


def _root(
    entry: Mapping[str, Any],
    before: Mapping[str, Any],
    pairs: list[tuple[str, str]],
    rules: list[dict[str, Any]],
) -> dict[str, Any]:
    """A root under its guards with these pairs, which join ``rules``."""
    rule = {key: dict(guard) for key, guard in before.items()}
    for divisor, of in pairs:
        guard = rule.setdefault(divisor, {})
        guard["divides"] = sorted({*guard.get("divides", ()), of})
    if rule not in rules:
        rules.append(rule)
    return {**entry, "guards": rules.index(rule)}


def _buildable(library: Library, kind: str, name: str) -> dict[str, Any] | None:
    starts = (dict(start) for start in library.starts(kind, name))
    return next((start for start in starts if _builds(library, kind, name, start)), None)


def _builds(library: Library, kind: str, name: str, given: Given) -> bool:
    try:
        with patience(_PATIENCE):
            library.build(kind, name, given)
    except (ImportError, MemoryError):  # of this machine, and no refusal
        raise
    except Exception:
        return False
    return True


def _numbers(library: Library, kind: str, name: str, given: Given) -> dict[str, int]:
    full = flattened(library.full(kind, name, given), library.sections(kind, name))
    return {k: v for k, v in full.items() if type(v) is int and v > 0 and not IDLE.search(k)}


def _pairs(library: Library, kind: str, name: str, start: Given) -> Iterator[tuple[str, str]]:
    """The pairs of a divisor and what it has to divide."""
    numbers = _numbers(library, kind, name, start)
    for divisor in filter(_DIVISOR.search, numbers):
        section = divisor.rpartition(".")[0]
        for of, size in numbers.items():
            if of == divisor or of.rpartition(".")[0] != section or size % numbers[divisor]:
                continue
            if _next_to_each_other(library, kind, name, start, divisor, of) and _everywhere(
                library, kind, name, start, divisor, of
            ):
                yield divisor, of


def _uneven(by: int) -> int:
    """What makes a multiple of ``by`` none, and keeps it even where that is possible."""
    return by // 2 if by % 4 == 0 else 1


def _next_to_each_other(
    library: Library, kind: str, name: str, start: Given, divisor: str, of: str
) -> bool:
    """Whether of multiples and what is none of them only the multiples are built."""
    least = _numbers(library, kind, name, start)[divisor]
    agreeing = 0
    for by in (2 * least, 4 * least, 6 * least, 3 * least):
        if by < 2:
            continue
        even = 8 * by
        uneven = 8 * by + _uneven(by)
        if _builds(library, kind, name, nested(start, {divisor: by, of: uneven})):
            return False
        agreeing += _builds(
            library, kind, name, nested(start, {divisor: by, of: even})
        ) and _builds(  # and with a divisor the other number is as good
            library, kind, name, nested(start, {divisor: _uneven(by), of: uneven})
        )
    return agreeing >= 2


def _everywhere(
    library: Library, kind: str, name: str, start: Given, divisor: str, of: str
) -> bool:
    """Whether it is so whatever else the config says."""
    some = _numbers(library, kind, name, start)
    agreeing = 0
    for given in _others(library, kind, name, start):
        if not _builds(library, kind, name, given):
            continue
        numbers = _numbers(library, kind, name, given)
        by = numbers.get(divisor, 1)
        size = numbers.get(of, 1)
        if by < 2 or some.keys() - numbers.keys():  # without layers there is nothing to divide
            continue
        if size % by:
            return False
        uneven = nested(given, {of: size + _uneven(by)})
        if _builds(library, kind, name, uneven):
            if _numbers(library, kind, name, uneven).get(of) == size + _uneven(by):
                return False
            continue  # an alias says another size
        agreeing += 1
    return agreeing >= _AGREEING


def _others(library: Library, kind: str, name: str, start: Given) -> Iterator[dict[str, Any]]:
    """Configs with other keys changed: each switch turned, each null a number, and as users do."""
    full = flattened(library.full(kind, name, start), library.sections(kind, name))
    for key, value in full.items():
        if IDLE.search(key):
            continue
        if isinstance(value, bool):
            yield nested(start, {key: not value})
        elif value is None and "int" in library.optional(kind, name).get(key, ""):
            yield nested(start, {key: 8})
    rng = Random(f"divide {kind} {name}")
    for _ in range(_TRIED):
        with suppress(Exception):  # the library refuses the config itself
            yield library.mutated(kind, name, start, rng)


def _answered(
    library: Library,
    kind: str,
    name: str,
    trace: Mapping[str, Any],
    start: Given,
    pair: tuple[str, str],
) -> bool:
    """Whether the trace answers where the class raises for this pair alone."""
    numbers = _numbers(library, kind, name, start)
    divisor, of = pair
    if not {divisor, of} <= numbers.keys():
        return False
    by = 4 * numbers[divisor]
    even = nested(start, {divisor: by, of: 8 * by})
    uneven = nested(start, {divisor: by, of: 8 * by + _uneven(by)})
    if _builds(library, kind, name, uneven) or not _builds(library, kind, name, even):
        return False
    try:
        predicted(library, kind, name, trace, uneven)
    except HfinspectError:
        return False
    return True
