"""One symbolic tree that gives every observed one: expressions, conditions, patterns of lists.

An expression or condition is taken from what was proposed (``symbols.py``, and simple ones over
the keys) when it fits every build that it has to explain.  What nothing fits raises ``NoFit``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hfinspect.trees.arithmetic import Written

from .evaluating import evaluated
from .members import Lists
from .numbering import Build, Item, NoFit, Staged, here
from .observing import Kept, Leaf, Node, Part

#: How deep choices may stand in choices at one place.
DEPTH = 3


class Fitter(Lists):
    """The symbolic tree of builds."""

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
        super().__init__(builds, expressions, conditions, lists, keys, known, staged)
        self._fits: dict[Any, Any] = {}
        self._left = 15_000

    def root(self, which: Iterable[int]) -> Any:
        """The symbolic tree of these builds."""
        return self.node([Item(b, self.builds[b].root) for b in which])

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
        fit = self._fits.get(key)
        if fit is None:
            self._left -= 1
            if self._left < 0:
                raise NoFit("too much to try")
            try:
                fit = self._node(list(unique.values()), depth)
            except NoFit as error:
                fit = error
            self._fits[key] = fit
        if isinstance(fit, NoFit):
            raise fit
        return fit

    def _node(self, items: list[Item], depth: int) -> Any:
        nodes = [item.node for item in items]
        if all(isinstance(node, Leaf) for node in nodes):
            leaf = self._leaf(items)
            if leaf is not None:
                return leaf
        elif all(isinstance(node, Part) for node in nodes):
            if len({node.signature for node in nodes}) == 1:
                return {"section": nodes[0].key, "class": nodes[0].class_name}
        elif (
            all(isinstance(node, Node) for node in nodes)
            and len({node.class_name for node in nodes}) == 1
        ):
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
                condition = ["not", condition]
                then = other
                other = None
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
        tensor: dict[str, Any] = {"shape": shape, "label": first.label}
        if first.buffer:
            tensor["buffer"] = True
        if first.dtype and first.buffer:
            tensor["dtype"] = first.dtype
        if first.tied:
            tensor["tied"] = first.tied
        if not first.saved:
            tensor["saved"] = False
        if first.active is not None:
            tensor["active"] = self._active(known)
            if tensor["active"] is None:
                return None
        return tensor

    def _active(self, items: list[Item]) -> list[Written] | None:
        """How many of how many experts are used per token: all where there are fewer than that."""
        pairs = [(item.build, *item.node.active) for item in items]
        counts = [(b, n) for b, _, n in pairs]
        count = self.number(counts)
        some = [(b, k) for b, k, n in pairs if k < n] or counts

        def serves(written: Written) -> bool:
            results = ((evaluated(written, self.values[b]), k, n) for b, k, n in pairs)
            return all(isinstance(x, int) and min(x, n) == k for x, k, n in results)

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
        sorts = {(_form(kept.cache), kept.window is None) for _, kept in items}
        if len(sorts) > 1:
            raise here("what a module keeps")
        fields: dict[str, Any] = {}
        if first.cache is not None:
            rows = [(b, kept.cache or ()) for b, kept in items]
            fields["keeps"] = [
                {
                    field: self._kept_value([(b, keeps[i][j][1]) for b, keeps in rows])
                    for j, (field, _) in enumerate(row)
                }
                for i, row in enumerate(first.cache)
            ]
        if first.window is not None:
            fields["window"] = self._kept_value([(b, kept.window) for b, kept in items])
        return fields

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
            raise here("a number of what a module keeps")
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
        module = {"class": items[0].node.class_name, "in": inside}
        return {**module, "layers": True} if items[0].node.layers else module

    def _below(self, items: list[Item], name: str) -> list[Item]:
        """The children of a name; what only older files hold is not known of every build."""
        children = [Item(item.build, item.node.children.get(name)) for item in items]
        known = self._known([item for item in children if item.node is not None])
        if any(_is_older(item.node) for item in known):
            return [item for item in children if item.build not in self._partial or item.node]
        return children


def _is_older(node: Any) -> bool:
    return node.is_older if isinstance(node, Node) else isinstance(node, Leaf) and not node.saved


def _form(keeps: Any) -> Any:
    """What rows of fields have in common that differ in numbers alone."""
    if type(keeps) is int:
        return int
    return tuple(map(_form, keeps)) if isinstance(keeps, tuple) else keeps


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
    for build, side in sorts.items():
        sides.setdefault(vector[build], set()).update(side)
    return sum(len(part) > 1 for part in sides.values())


def _where(items: list[Item]) -> str:
    node = next((item.node for item in items if item.node is not None), None)
    return node.class_name if isinstance(node, (Node, Part)) else str(node)[:80]
