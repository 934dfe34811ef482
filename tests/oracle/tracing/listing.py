"""Lists that a class computes where config.json has none: as long as a number of the config says,
and each entry by its place. ``layer_types`` of most decoders is one::

    {"count": "num_hidden_layers", "pick": [[["==", ["%", ["+", "i", 1], "pattern"], 0], "full"],
                                            [null, "sliding"]]}

And single values that conditions choose: whether a feed-forward has a gate, of the text that says
which it is. These have no count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hfinspect.trees.arithmetic import NoValueError, Written, holds

from .evaluating import EnvValues, evaluated

#: Conditions that may stand before the entry of all other places, and tries of one list.
DEPTH = 3
TRIES = 4000
#: Builds that one list is searched for in, and entries of one build.
BUILDS = 24
ENTRIES = 64


class Entry(NamedTuple):
    """One place of the list of one build."""

    build: int
    i: int
    value: Any


class Listing:
    """What a list may be computed from: ``expressions`` and ``keys``, without other lists."""

    def __init__(self, expressions: Sequence[Written], keys: Sequence[str]) -> None:
        self.expressions = expressions
        self.keys = keys

    def computed(self, where: Sequence[tuple[EnvValues, Any]]) -> dict[str, Any] | None:
        """What gives each build its list, or None."""
        if not where or not all(isinstance(items, list) for _, items in where):
            return None
        count = self._number([(values, len(items)) for values, items in where])
        return None if count is None else self._search(where, count)

    def chosen(self, where: Sequence[tuple[EnvValues, Any]]) -> dict[str, Any] | None:
        """What gives each build its one value, or None."""
        if not where or any(isinstance(value, (list, dict)) for _, value in where):
            return None
        rule = self._search([(values, [value]) for values, value in where], 1)
        return rule and {"pick": rule["pick"]}

    def _search(
        self, where: Sequence[tuple[EnvValues, Any]], count: Written
    ) -> dict[str, Any] | None:
        used = list({repr(items): (values, items) for values, items in where}.values())[:BUILDS]
        for _ in range(BUILDS):
            rule = self._of(used, count)
            wrong = [one for one in where if rule is not None and not gives(rule, *one)]
            if not wrong:
                return rule
            used.append(wrong[0])
        return None

    def _number(self, where: Sequence[tuple[EnvValues, Any]]) -> Written | None:
        for written in (*self.keys, *self.expressions):
            if all(_same(evaluated(written, values), wanted) for values, wanted in where):
                return written
        return None

    def _of(self, where: Sequence[tuple[EnvValues, Any]], count: Written) -> dict[str, Any] | None:
        self._values = [values for values, _ in where]
        entries = [
            Entry(build, i, items[i])
            for build, (_, items) in enumerate(where)
            for i in range(min(len(items), ENTRIES))
        ]
        conditions = list(self._choices(where) if count == 1 else self._conditions(where))
        for depth in range(DEPTH + 1):  # as few conditions as will do
            self._left = TRIES
            pick = self._pick(entries, conditions, depth)
            if pick is not None:
                return {"count": count, "pick": pick}
        return None

    def _pick(
        self, entries: list[Entry], conditions: list[Written], depth: int
    ) -> list[list[Any]] | None:
        last = self._entry(entries)
        if last is not None:
            return [[None, last[0]]]
        tried = set()
        for condition in conditions if depth else ():
            self._left -= 1
            if self._left < 0:
                return None
            try:
                there = [holds(condition, self._values[e.build], e.i) for e in entries]
            except (NoValueError, ArithmeticError, TypeError):
                continue
            if all(there) or not any(there) or tuple(there) in tried:
                continue
            tried.add(tuple(there))
            inside = self._entry([e for e, yes in zip(entries, there, strict=True) if yes])
            if inside is None:
                continue
            rest = [e for e, yes in zip(entries, there, strict=True) if not yes]
            others = self._pick(rest, conditions, depth - 1)
            if others is not None:
                return [[condition, inside[0]], *others]
        return None

    def _entry(self, entries: list[Entry]) -> tuple[Any] | None:
        """What all these places have: the same, or a number of the config."""
        first = entries[0].value if entries else None
        if isinstance(first, (list, dict)):
            return None
        if all(_same(e.value, first) for e in entries):
            return (first,)
        if any(isinstance(e.value, (str, bool)) or e.value is None for e in entries):
            return None
        written = self._number([(self._values[e.build], e.value) for e in entries])
        return None if written is None else (["+", written, 0],)

    def _choices(self, where: Sequence[tuple[EnvValues, Any]]) -> Iterator[Written]:
        """Conditions of a single value."""
        for key in self.keys:
            held = [values.env.get(key) for values, _ in where]
            yield from (["is", key, v] for v in dict.fromkeys(held) if isinstance(v, str))
            if any(isinstance(v, bool) for v in held):
                yield ["true", key]
            if any(v is None for v in held):
                yield ["null", key]

    def _conditions(self, where: Sequence[tuple[EnvValues, Any]]) -> Iterator[Written]:
        longest = max(len(items) for _, items in where)
        for key in self.keys:
            held = [values.env.get(key) for values, _ in where]
            if any(isinstance(v, bool) for v in held):
                yield ["true", key]
            if any(v is None for v in held):
                yield ["null", key]
            if all(type(v) is int and 0 <= v <= 4 * longest for v in held if v is not None):
                yield ["<", "i", key]
            if all(type(v) is int and 0 < v <= 4 * longest for v in held if v is not None):
                yield ["==", ["%", ["+", "i", 1], key], 0]
                yield ["==", ["%", "i", key], 0]
                yield ["==", ["+", "i", 1], key]
        for period in (2, 3, 4, 5, 6, 8):
            for rest in range(period):
                yield ["==", ["%", "i", period], rest]
        for place in range(4):
            yield ["==", "i", place]
            yield ["<", "i", place + 1]
        for written in self.expressions[:60]:
            held = [evaluated(written, values) for values, _ in where]
            if all(type(v) is int and 0 <= v <= longest for v in held):
                yield ["<", "i", written]
                yield ["==", ["+", "i", 1], written]


def gives(written: Mapping[str, Any], values: EnvValues, items: Any) -> bool:
    """Whether a build's list, or its one value, is what is written."""
    if "count" not in written:
        written = {"count": 1, **written}
        items = [items]
    if not _same(evaluated(written["count"], values), len(items)):
        return False
    try:
        for i, item in enumerate(items):
            value = next(v for when, v in written["pick"] if when is None or holds(when, values, i))
            if not _same(evaluated(value, values) if isinstance(value, list) else value, item):
                return False
    except (NoValueError, ArithmeticError, TypeError, StopIteration):
        return False
    return True


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)
