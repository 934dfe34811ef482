"""Numbers and conditions of builds: of what was proposed the first that fits all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from hfinspect.trees.arithmetic import NoValueError, Written, holds

from .evaluating import Env, EnvValues, evaluated
from .observing import Node


class NoFit(Exception):  # noqa: N818
    """Nothing proposed explains all builds. ``here``: of the place itself, not of one below."""

    here = False


class Build(NamedTuple):
    """A build: what keys stood for, which of them were written down, and the tree."""

    env: Env
    written: frozenset[str]
    root: Node


class Staged(NamedTuple):
    """What may be said of a member of a list of stages, with its number; and of how many there
    are."""

    expressions: Sequence[Written]
    conditions: Sequence[Written]
    counts: Sequence[Written] = ()


class Item(NamedTuple):
    """A node of one build: its number, and the node or leaf (None: absent)."""

    build: int
    node: Any


#: A member of a list: build, place in the list, the list's length, node.
Member = tuple[int, int, int, Node]


class Numbers:
    """``expressions`` are tried in order; ``conditions`` too."""

    def __init__(
        self,
        builds: Sequence[Build],
        expressions: Iterable[Written],
        conditions: Iterable[Written],
        lists: Sequence[str] = (),
        keys: Sequence[str] = (),
        known: dict[Any, dict[str, Any]] | None = None,
        staged: Staged | None = None,
    ) -> None:
        self.values = [EnvValues(b.env, b.written) for b in builds]
        self.builds = builds
        self._partial = {number for number, b in enumerate(builds) if b.root.partial}
        self.staged = staged or Staged((), ())
        self.expressions = [*expressions, *self.staged.expressions]
        self._plain = len(self.expressions) - len(self.staged.expressions)
        self._names = [repr(written) for written in self.expressions]
        self._all_numbers = {} if known is None else known
        self._numbers = [self._all_numbers.setdefault(_print(b.env), {}) for b in builds]
        self._stages: dict[tuple[int, str, int], int] = {}
        self.lists = list(lists)
        self.keys = list(keys)
        self.conditions: list[tuple[Written, list[bool | None]]] = []
        self._of_stages: list[tuple[Written, list[bool | None]]] = []
        seen: set[tuple[bool | None, ...]] = set()
        for condition in conditions:
            vector = tuple(self._holds(condition, values) for values in self.values)
            if None in vector or len(set(vector)) < 2 or vector in seen:
                continue
            seen.add(vector)
            seen.add(tuple(not x for x in vector))
            self.conditions.append((condition, list(vector)))
        self._index: dict[int, dict[Any, list[int]]] = {}

    @staticmethod
    def _holds(condition: Written, values: EnvValues, i: int | None = None) -> bool | None:
        try:
            return holds(condition, values, i)
        except (NoValueError, ArithmeticError, TypeError):
            return None

    def _value(self, expression: int, build: int) -> Any:
        known = self._numbers[build]
        name = self._names[expression]
        if name not in known:
            known[name] = evaluated(self.expressions[expression], self.values[build])
        return known[name]

    def number(self, seen: Iterable[tuple[int, int]]) -> Written | None:
        """The first expression that gives each build its number; None if none does."""
        wanted = dict(seen)
        if any(wanted[b] != v for b, v in seen):
            return None
        numbers = set(wanted.values())
        constant = next(iter(numbers)) if len(numbers) == 1 else None
        if constant is not None and (len(wanted) > 3 or constant in (1, 0)):
            return constant
        order = sorted(wanted.items(), key=lambda pair: -pair[1])
        (largest, size), *rest = order
        for number in self._giving(largest).get(size, ()):
            values = [self._value(number, b) for b, _ in rest]
            if all(isinstance(x, int) and x == v for x, (_, v) in zip(values, rest, strict=True)):
                return self.expressions[number]
        return constant

    def _giving(self, build: int) -> dict[Any, list[int]]:
        """For a build: number -> the expressions that give it, in their order."""
        builds = self._index.get(build)
        if builds is None:
            builds = self._index[build] = {}
            for number in self._tried(build):
                given = self._value(number, build)
                if isinstance(given, int):  # 64.0 is no size
                    builds.setdefault(given, []).append(number)
        return builds

    def _tried(self, build: int) -> Iterable[int]:
        """The numbers of the expressions for a build, those of its stage first."""
        plain = range(self._plain)
        if build < len(self.builds):
            return plain
        return itertools.chain(range(self._plain, len(self.expressions)), plain)

    # ---- at the place of a stage

    def _truth(self, condition: Written, build: int) -> bool | None:
        """Whether a condition on a stage holds there."""
        if build < len(self.builds):
            return None
        known = self._numbers[build]
        name = f"?{condition!r}"
        if name not in known:
            known[name] = self._holds(condition, self.values[build])
        return known[name]  # type: ignore[no-any-return]

    def _stage(self, build: int, place: str, i: int) -> int:
        """The number of the build at a member's place, where expressions may read that."""
        key = (build, place, i)
        if key not in self._stages:
            self._stages[key] = len(self.values)
            held = self.values[build]
            env = {**held.env, place: i}
            self.values.append(EnvValues(env, held.written))
            self._numbers.append(self._all_numbers.setdefault(_print(env), {}))
            if build in self._partial:
                self._partial.add(self._stages[key])
            for _, vector in self.conditions:
                vector.append(vector[build])
        return self._stages[key]

    def _is_staged(self, items: list[Item]) -> bool:
        return items[0].build >= len(self.builds)


def _print(env: Env) -> Any:
    return hash(repr([(k, v) for k, v in env.items() if isinstance(v, (int, float, list))]))


def here(why: str) -> NoFit:
    error = NoFit(why)
    error.here = True
    return error
