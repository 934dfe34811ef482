"""Lists of modules: how many members there are, and which is what."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from hfinspect.trees.arithmetic import Written
from hfinspect.trees.backbone_stages import stage_names

from .evaluating import as_function, evaluated
from .numbering import Item, Member, NoFit, Numbers, here
from .writing import PLACES


class Lists(Numbers):
    """What is said of lists, of which the members are nodes of the tree."""

    def node(self, items: list[Item], depth: int = 0) -> Any:
        """What stands for these nodes."""
        raise NotImplementedError

    def _children(self, items: list[Item]) -> Any:
        raise NotImplementedError

    def _list(self, items: list[Item], depth: int) -> Any:
        counts = [(item.build, len(item.node.members)) for item in items]
        count = self.number(counts)
        first = items[0].node
        if count is None:
            raise here(f"count of {first.class_name}")
        members = [
            (item.build, i, len(item.node.members), member)
            for item in items
            for i, member in enumerate(item.node.members)
        ]
        module = {"class": first.class_name, "count": count}
        if first.layers:
            module["layers"] = True
        same = len({n for _, n in counts}) == 1
        if same and (counts[0][1] == 1 or not _uniform(members)):
            inside = self._children(items)
            if not first.layers:
                return inside
            n = counts[0][1]
            module["pick"] = [
                [["==", "i", i] if i < n - 1 else None, inside["in"][str(i)]] for i in range(n)
            ]
            return module
        if not same and _sorts_of(members) > 2:  # a few conditions would do for few stages
            try:
                return {**module, **self._each(members, count)}
            except NoFit:
                pass
        try:
            picked = self._pick(members, 0, list(self._conditions_of(members)))
            module["pick"] = [
                [when, self.node([Item(b, m) for b, _, _, m in chosen])] for when, chosen in picked
            ]
            return module
        except NoFit:
            if same:
                raise
        return {**module, **self._each(members, count)}

    # ---- lists of stages

    def _each(self, members: list[Member], count: Written) -> dict[str, Any]:
        """Members of which each is as the lists' entries of its own number say."""
        place = next((p for p in PLACES if p not in self.values[members[0][0]].env), None)
        if place is None:
            raise here("members of a list")
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
            children: list[Item] = []
            for build, node in items:
                number = evaluated(count, self.values[build])
                names = stage_names(number - 1) if type(number) is int and number > 0 else []
                there = {n: child for n, child in node.children.items() if n in names}
                if len(there) < len(node.children):
                    break
                samples = [(self._stage(build, place, i), n) for i, n in enumerate(names)]
                if any(self._truth(when, b) is not (n in there) for b, n in samples):
                    break
                children += [Item(b, there[n]) for b, n in samples if n in there]
            else:
                inside = self._inside(children, place, count)
                whole = {"class": items[0].node.class_name, "count": count, "place": place}
                return {**whole, "names": True, "pick": [[when, inside]]}
        raise here("maps that are handed on")

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
                raise here("members of a list")
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
        raise here("members of a list")

    def _conditions_of(self, members: list[Member]) -> Iterable[Written]:
        """Conditions on a member's place that its neighbours suggest."""
        builds = sorted({b for b, *_ in members})
        yield ["==", "i", 0]
        longest = max(n for _, _, n, _ in members)
        for key in self.lists:
            if all(len(self.values[b].env.get(key) or ()) >= n for b, _, n, _ in members):
                entries = {
                    repr(e): e
                    for b in builds
                    for e in self.values[b].env[key]
                    if isinstance(e, (str, bool, int))
                }
                if len(entries) <= 8:
                    yield from (["kind", key, entry] for entry in entries.values())
            yield ["in", "i", key]
        for key in self.keys:
            held = [self.values[b].env.get(key) for b in builds]
            numbers = [v for v in held if isinstance(v, int) and not isinstance(v, bool)]
            if len(numbers) == len(held):
                if all(0 <= v <= 4 * longest for v in numbers):
                    yield ["<", "i", key]
                if all(v >= 1 for v in numbers):
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


def _uniform(members: Iterable[Member]) -> bool:
    seen: dict[int, Any] = {}
    return all(seen.setdefault(b, m.signature) == m.signature for b, _, _, m in members)


def _sorts_of(members: Iterable[Member]) -> int:
    """How many different members a list has at most."""
    sorts: dict[int, set[Any]] = {}
    for build, _, _, member in members:
        sorts.setdefault(build, set()).add(member.signature)
    return max(map(len, sorts.values()))
