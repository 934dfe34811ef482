"""One symbolic tree that gives every observed one: expressions, conditions, patterns of lists.

An expression or condition is taken from what was proposed (``symbols.py``, and simple ones over
the keys) when it fits every build that it has to explain.  What nothing fits raises ``NoFit``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hfinspect.trees.arithmetic import NoValueError, Written, holds
from hfinspect.trees.handed_on import stage_names

from .evaluating import Env, EnvValues, as_function, evaluated
from .observing import Kept, Leaf, Node, Part
from .writing import PLACES

#: How deep choices may stand in choices at one place.
DEPTH = 3


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


class Fitter:
    """``expressions`` are tried in order; ``conditions`` too."""

    def __init__(
        self, builds: Sequence[Build], expressions: Iterable[Written],
        conditions: Iterable[Written], lists: Sequence[str] = (), keys: Sequence[str] = (),
        known: dict[Any, dict[str, Any]] | None = None, staged: Staged | None = None,
    ) -> None:  # fmt: skip
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
        self._fits: dict[Any, Any] = {}
        self._left = 15_000
        self._index: dict[int, dict[Any, list[int]]] = {}

    @staticmethod
    def _holds(condition: Written, values: EnvValues, i: int | None = None) -> bool | None:
        try:
            return holds(condition, values, i)
        except (NoValueError, ArithmeticError, TypeError):
            return None

    def root(self, which: Iterable[int]) -> Any:
        """The symbolic tree of these builds."""
        return self.node([Item(b, self.builds[b].root) for b in which])

    # ---- numbers

    def _value(self, expression: int, build: int) -> Any:
        known, name = self._numbers[build], self._names[expression]
        if name not in known:
            known[name] = evaluated(self.expressions[expression], self.values[build])
        return known[name]

    def number(self, seen: Iterable[tuple[int, int]]) -> Written | None:
        """The first expression that gives each build its number; None if none does."""
        wanted = dict(seen)
        if any(wanted[b] != v for b, v in seen):
            return None
        found = set(wanted.values())
        constant = next(iter(found)) if len(found) == 1 else None
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
        found = self._index.get(build)
        if found is None:
            found = self._index[build] = {}
            for number in self._tried(build):
                given = self._value(number, build)
                if isinstance(given, int):  # 64.0 is no size
                    found.setdefault(given, []).append(number)
        return found

    def _tried(self, build: int) -> Iterable[int]:
        """The numbers of the expressions for a build, those of its stage first."""
        plain = range(self._plain)
        if build < len(self.builds):
            return plain
        return itertools.chain(range(self._plain, len(self.expressions)), plain)

    # ---- nodes

    def node(self, items: list[Item], depth: int = 0) -> Any:
        unique: dict[Any, Item] = {}
        for item in items:
            signature = item.node.signature if item.node is not None else None
            unique.setdefault((item.build, signature), item)
        # Equal tensors may be for different things: the first that is there says what.
        there = [item for item in items if item.node is not None]
        first = self._first(there) if there else None
        key = (frozenset(unique), depth, first.labels if first is not None else None)
        found = self._fits.get(key)
        if found is None:
            self._left -= 1
            if self._left < 0:
                raise NoFit("too much to try")
            try:
                found = self._node(list(unique.values()), depth)
            except NoFit as error:
                found = error
            self._fits[key] = found
        if isinstance(found, NoFit):
            raise found
        return found

    def _node(self, items: list[Item], depth: int) -> Any:
        nodes = [item.node for item in items]
        if all(isinstance(node, Leaf) for node in nodes):
            found = self._leaf(items)
            if found is not None:
                return found
        elif all(isinstance(node, Part) for node in nodes):
            if len({node.signature for node in nodes}) == 1:
                return {"section": nodes[0].key, "class": nodes[0].class_name}
        elif all(isinstance(node, Node) for node in nodes) and len(
            {node.class_name for node in nodes}
        ) == 1:  # fmt: skip
            try:
                return self._module(items, depth)
            except NoFit as error:
                if depth or not error.here:
                    raise
            depth = DEPTH - 1
        return self._choice(items, depth)

    def _choice(self, items: list[Item], depth: int) -> Any:
        """A condition that parts the builds, and what fits each side."""
        builds = sorted({item.build for item in items})
        if depth >= DEPTH or len(builds) < 2:
            raise NoFit(_where(items))
        sorts: dict[int, set[Any]] = {}
        for item in items:
            sorts.setdefault(item.build, set()).add(_sort(item.node))
        mixed = len(set().union(*sorts.values())) > 1
        if not mixed:
            depth = max(depth, DEPTH - 1)  # sizes or a list differ: one condition, or none
        tried: set[tuple[bool | None, ...]] = set()
        ranked = [*self._of_stages, *self.conditions] if self._is_staged(items) else self.conditions
        if mixed:
            # What parts the sorts at once comes first.
            ranked = sorted(ranked, key=lambda c: _unsorted(c[1], sorts))
        for condition, vector in ranked:
            side = tuple(vector[b] for b in builds)
            if len(set(side)) < 2 or side in tried or None in side:
                continue
            tried.add(side)
            if mixed and _unsorted(vector, sorts) > self._mixing(condition, depth):
                continue
            parts = [
                [item for item in items if vector[item.build] is want] for want in (True, False)
            ]
            try:
                then, other = (self._side(part, depth + 1) for part in parts)
            except NoFit:
                continue
            if then is None:
                condition, then, other = ["not", condition], other, None
            return {"if": condition, "then": then, "else": other}
        raise NoFit(_where(items))

    def _mixing(self, condition: Written, depth: int) -> int:
        """How many sides of a condition may hold nodes of more than one sort: each end of a list
        of stages may be another thing altogether."""
        if depth == DEPTH - 1:
            return 0
        return 2 if any(condition == end for end, _ in self._of_stages[:2]) else 1

    def _side(self, items: list[Item], depth: int) -> Any:
        return None if all(item.node is None for item in items) else self.node(items, depth)

    def _known(self, items: list[Item]) -> list[Item]:
        """Those of builds of which more than names and shapes is known, if there are any."""
        return [item for item in items if item.build not in self._partial] or items

    def _first(self, items: list[Item]) -> Any:
        return self._known(items)[0].node

    def _leaf(self, items: list[Item]) -> Any:
        known = self._known(items)
        first = known[0].node
        sorts = {
            (leaf.buffer, leaf.dtype, leaf.tied, len(leaf.shape), leaf.saved) for _, leaf in items
        }
        if len({item.node.active is None for item in known}) > 1:
            return None
        if len(sorts) > 1:
            return None
        shape = []
        for axis in range(len(first.shape)):
            size = self.number([(item.build, item.node.shape[axis]) for item in items])
            if size is None:
                return None
            shape.append(size)
        found: dict[str, Any] = {"shape": shape, "label": first.label}
        if first.buffer:
            found["buffer"] = True
        if first.dtype and first.buffer:
            found["dtype"] = first.dtype
        if first.tied:
            found["tied"] = first.tied
        if not first.saved:
            found["saved"] = False
        if first.active is not None:
            found["active"] = self._active(known)
            if found["active"] is None:
                return None
        return found

    def _active(self, items: list[Item]) -> list[Written] | None:
        """How many of how many experts serve a token: all where there are fewer than that."""
        pairs = [(item.build, *item.node.active) for item in items]
        counts = [(b, n) for b, _, n in pairs]
        count = self.number(counts)
        some = [(b, k) for b, k, n in pairs if k < n] or counts

        def serves(written: Written) -> bool:
            found = ((evaluated(written, self.values[b]), k, n) for b, k, n in pairs)
            return all(isinstance(x, int) and min(x, n) == k for x, k, n in found)

        first, most = max(some, key=lambda pair: pair[1])
        near = (self.expressions[number] for number in self._giving(first).get(most, ()))
        chosen = next(filter(serves, (self.number(some), *near, most)), None)
        if count is None or chosen is None:
            return None
        return [chosen, count]

    def _module(self, items: list[Item], depth: int) -> Any:
        kept = self._kept([(item.build, item.node.kept) for item in self._known(items)])
        if all(item.node.maps for item in items) and self.staged.counts:
            return {**self._maps(items), **kept}
        if all(item.node.members is not None for item in items):
            return {**self._list(items, depth), **kept}
        return {**self._children(items), **kept}

    def _kept(self, items: list[tuple[int, Kept]]) -> dict[str, Any]:
        """What a module keeps between tokens: its numbers as expressions."""
        first = items[0][1]
        sorts = {(_form(kept.keeps), kept.window is None) for _, kept in items}
        if len(sorts) > 1:
            raise _here("what a module keeps")
        found: dict[str, Any] = {}
        if first.keeps is not None:
            rows = [(b, kept.keeps or ()) for b, kept in items]
            found["keeps"] = [
                {
                    field: self._kept_value([(b, keeps[i][j][1]) for b, keeps in rows])
                    for j, (field, _) in enumerate(row)
                }
                for i, row in enumerate(first.keeps)
            ]
        if first.window is not None:
            found["window"] = self._kept_value([(b, kept.window) for b, kept in items])
        return found

    def _kept_value(self, seen: list[tuple[int, Any]]) -> Any:
        value = seen[0][1]
        if isinstance(value, tuple):
            return [
                self._kept_value([(b, sizes[axis]) for b, sizes in seen])
                for axis in range(len(value))
            ]
        if type(value) is not int:
            return value
        number = self.number(seen)
        if number is None:
            raise _here("a number of what a module keeps")
        return number

    def _children(self, items: list[Item]) -> Any:
        names: list[str] = []
        for item in items:
            at = 0
            for name in item.node.children:
                if name in names:
                    at = names.index(name) + 1
                else:
                    names.insert(at, name)
                    at += 1
        inside = {name: self.node(self._below(items, name)) for name in names}
        found = {"class": items[0].node.class_name, "in": inside}
        return {**found, "layers": True} if items[0].node.layers else found

    def _below(self, items: list[Item], name: str) -> list[Item]:
        """The children of a name; what only older files hold is not known of every build."""
        found = [Item(item.build, item.node.children.get(name)) for item in items]
        known = self._known([item for item in found if item.node is not None])
        if any(isinstance(item.node, Leaf) and not item.node.saved for item in known):
            return [item for item in found if item.build not in self._partial or item.node]
        return found

    # ---- lists

    def _list(self, items: list[Item], depth: int) -> Any:
        counts = [(item.build, len(item.node.members)) for item in items]
        count = self.number(counts)
        first = items[0].node
        if count is None:
            raise _here(f"count of {first.class_name}")
        members = [
            (item.build, i, len(item.node.members), member)
            for item in items
            for i, member in enumerate(item.node.members)
        ]
        found = {"class": first.class_name, "count": count}
        if first.layers:
            found["layers"] = True
        same = len({n for _, n in counts}) == 1
        if same and (counts[0][1] == 1 or not _uniform(members)):
            inside = self._children(items)
            if not first.layers:
                return inside
            n = counts[0][1]
            found["pick"] = [
                [["==", "i", i] if i < n - 1 else None, inside["in"][str(i)]] for i in range(n)
            ]
            return found
        if not same and _sorts_of(members) > 2:  # a few conditions would do for few stages
            try:
                return {**found, **self._each(members, count)}
            except NoFit:
                pass
        try:
            picked = self._pick(members, 0, list(self._conditions_of(members)))
            found["pick"] = [
                [when, self.node([Item(b, m) for b, _, _, m in chosen])] for when, chosen in picked
            ]
            return found
        except NoFit:
            if same:
                raise
        return {**found, **self._each(members, count)}

    # ---- lists of stages

    def _each(self, members: list[Member], count: Written) -> dict[str, Any]:
        """Members of which each is as the lists' entries of its own number say."""
        place = next((p for p in PLACES if p not in self.values[members[0][0]].env), None)
        if place is None:
            raise _here("members of a list")
        items = [Item(self._stage(b, place, i), member) for b, i, _, member in members]
        near: list[Written] = []
        if not self.staged.conditions:  # layers, of which two kinds may go their own ways
            near = [_at(place, condition) for condition in self._conditions_of(members)]
        return {"place": place, "pick": [[None, self._inside(items, place, count, near)]]}

    def _maps(self, items: list[Item]) -> dict[str, Any]:
        """A module for each map that a backbone hands on."""
        place = PLACES[0]
        for stages in self.staged.counts:
            count: Written = ["+", stages, 1]
            when = ["chosen", place, count]
            found: list[Item] = []
            for build, node in items:
                number = evaluated(count, self.values[build])
                names = stage_names(number - 1) if type(number) is int and number > 0 else []
                there = {n: child for n, child in node.children.items() if n in names}
                if len(there) < len(node.children):
                    break
                samples = [(self._stage(build, place, i), n) for i, n in enumerate(names)]
                if any(self._truth(when, b) is not (n in there) for b, n in samples):
                    break
                found += [Item(b, there[n]) for b, n in samples if n in there]
            else:
                inside = self._inside(found, place, count)
                whole = {"class": items[0].node.class_name, "count": count, "place": place}
                return {**whole, "names": True, "pick": [[when, inside]]}
        raise _here("maps that are handed on")

    def _inside(
        self, items: list[Item], place: str, count: Written, near: Sequence[Written] = ()
    ) -> Any:
        """What the members of a list of stages are."""
        outer = self._of_stages
        ends: list[Written] = [["==", place, 0], ["<", ["+", place, 1], count]]
        self._of_stages = [
            (condition, [self._truth(condition, b) for b in range(len(self.values))])
            for condition in (*ends, *near, *(c for c, _ in outer), *self.staged.conditions)
        ]
        try:
            return self.node(items)
        finally:
            self._of_stages = outer

    def _truth(self, condition: Written, build: int) -> bool | None:
        """Whether a condition on a stage holds there."""
        if build < len(self.builds):
            return None
        known, name = self._numbers[build], f"?{condition!r}"
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

    def _pick(
        self, members: list[Member], depth: int, conditions: list[Written]
    ) -> list[tuple[Written, list[Member]]]:
        """Conditions that part the members into equal ones, by what the members are alone."""
        if _uniform(members):
            return [(None, members)]
        tried = set()
        if depth == 0:
            self._tries = 400
            if _sorts_of(members) > 4:
                raise _here("members of a list")
        for condition in conditions if depth < 3 else ():
            self._tries -= 1
            if self._tries < 0:
                break
            sides: tuple[list[Member], list[Member]] = ([], [])
            there = as_function(repr(condition))
            try:
                for one in members:
                    sides[there(self.values[one[0]].numbers, one[1])].append(one)
            except (ArithmeticError, TypeError, IndexError, KeyError):
                continue
            parted = frozenset((b, i) for b, i, _, _ in sides[1]) if all(sides) else None
            if parted is None or parted in tried or not _uniform(sides[1]):
                continue
            tried.add(parted)
            try:
                return [(condition, sides[1]), *self._pick(sides[0], depth + 1, conditions)]
            except NoFit:
                continue
        raise _here("members of a list")

    def _conditions_of(self, members: list[Member]) -> Iterable[Written]:
        """Conditions on a member's place that its neighbours suggest."""
        builds = sorted({b for b, *_ in members})
        yield ["==", "i", 0]
        longest = max(n for _, _, n, _ in members)
        for key in self.lists:
            if all(
                len(self.values[b].env.get(key) or ()) >= n for b, _, n, _ in members
            ):  # fmt: skip
                entries = {
                    repr(e): e for b in builds for e in self.values[b].env[key]
                    if isinstance(e, (str, bool, int))
                }  # fmt: skip
                if len(entries) <= 8:
                    yield from (["kind", key, entry] for entry in entries.values())
            yield ["in", "i", key]
        for key in self.keys:
            held = [self.values[b].env.get(key) for b in builds]
            found = [v for v in held if isinstance(v, int) and not isinstance(v, bool)]
            if len(found) == len(held):
                if all(0 <= v <= 4 * longest for v in found):
                    yield ["<", "i", key]
                if all(v >= 1 for v in found):
                    yield ["==", ["%", "i", key], 0]
                    yield ["==", ["%", ["+", "i", 1], key], 0]
        for number in itertools.islice(self._tried(builds[0]), 80):
            expression = self.expressions[number]
            sizes = [self._value(number, b) for b in builds]
            if all(isinstance(v, int) and 0 < v <= longest for v in sizes):
                yield ["==", ["+", "i", 1], expression]
                yield ["<", "i", expression]
                yield ["<=", "i", expression]
        for period in (2, 3, 4, 5, 6):
            for rest in range(period):
                yield ["==", ["%", "i", period], rest]
        yield from (["==", "i", place] for place in range(1, 4))


def _at(place: str, condition: Written) -> Written:
    """A condition on a member's place for what is inside it."""
    if isinstance(condition, list):
        end = [place] if condition[0] == "kind" else []
        return [_at(place, part) for part in condition] + end
    return place if condition == "i" else condition


def _form(keeps: Any) -> Any:
    """What rows of fields have in common that differ in numbers alone."""
    if type(keeps) is int:
        return int
    return tuple(map(_form, keeps)) if isinstance(keeps, tuple) else keeps


def _print(env: Env) -> Any:
    return hash(repr([(k, v) for k, v in env.items() if isinstance(v, (int, float, list))]))


def _here(why: str) -> NoFit:
    error = NoFit(why)
    error.here = True
    return error


def _uniform(members: Iterable[Member]) -> bool:
    seen: dict[int, Any] = {}
    return all(seen.setdefault(b, m.signature) == m.signature for b, _, _, m in members)


def _sorts_of(members: Iterable[Member]) -> int:
    """How many different members a list has at most."""
    sorts: dict[int, set[Any]] = {}
    for build, _, _, member in members:
        sorts.setdefault(build, set()).add(member.signature)
    return max(map(len, sorts.values()))


def _sort(node: Any) -> Any:
    """What nodes have in common that one symbolic node can stand for."""
    if isinstance(node, Leaf):
        return (node.buffer, node.dtype, node.tied, len(node.shape))
    if isinstance(node, Part):
        return node.signature
    return node.class_name if isinstance(node, Node) else None


def _unsorted(vector: Sequence[bool | None], sorts: Mapping[int, set[Any]]) -> int:
    """Of the two sides of a condition, how many hold nodes of more than one sort."""
    sides: dict[Any, set[Any]] = {}
    for build, found in sorts.items():
        sides.setdefault(vector[build], set()).update(found)
    return sum(len(found) > 1 for found in sides.values())


def _where(items: list[Item]) -> str:
    node = next((item.node for item in items if item.node is not None), None)
    return node.class_name if isinstance(node, (Node, Part)) else str(node)[:80]
