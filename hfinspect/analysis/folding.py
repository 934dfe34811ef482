"""The tensors of a checkpoint, those that are alike once.

Layers are alike whose tensors have the same names within the layer, dtypes and shapes, and of which
the config predicts the same; so are the experts within a layer. What is alike has equal labels,
equal quantisation and equal differences from the prediction, for these follow from the words of a
name, from what stands next to it, and from the tree. So one layer of each kind is looked at, with
one expert of each kind in it, and counts for all.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import Final, NamedTuple, TypeAlias

from ..core.checkpoint import Shard
from ..core.stored_tensors import (
    NUMBER_BITS,
    StoredKind,
    StoredTensors,
    are_distinct,
    key_of,
    texts_of,
    width_of,
)
from ..core.tensor import StoredTensor
from ..trees.prediction import Prediction
from .labels.routing import Routing, is_list_of_experts
from .predicted_numbers import Numbers, numbers_predicted

#: So many kinds, or layers, are not worth a fold if they are more than half of the tensors: names
#: of somebody who wants it to take long. A million of such names take 1.7 GB.
MANY_KINDS: Final = 10_000

#: Keys in order: all from one to another, or those of an ``array("Q")``.
_Keys: TypeAlias = Sequence[int]
#: The same, to be compared: the first and the last, or the bytes of the array.
_Spelled: TypeAlias = "tuple[int, int] | bytes"
#: A kind of tensors: its number, what of its names is left to be split, and the keys of that.
_Group: TypeAlias = tuple[int, Sequence[str], _Keys]


class Alike(NamedTuple):
    """Tensors that are alike: the number of their kind, and the numbers in their names. Every
    combination of one number of each place is one of them; the first of each place are those of
    the ``name``, which is looked at."""

    kind: int
    numbers: tuple[tuple[int, ...], ...]
    name: str

    @property
    def times(self) -> int:
        """How many they are."""
        return prod(map(len, self.numbers))

    def members(self) -> Iterator[int]:
        """The key of each."""
        return map(key_of, product(*self.numbers))


class Fold:
    """The shards of a checkpoint with one tensor for all that are alike, where the first of these
    is.

    ``alike`` are these, in the order of their first tensor; ``times`` says of the names that stand
    for several how many these are.
    """

    def __init__(
        self, whole: Sequence[Shard], kinds: Sequence[StoredKind], found: Sequence[Alike]
    ) -> None:
        self.whole = tuple(whole)
        self._number = {kind: at for at, kind in enumerate(kinds)}
        self._kinds = kinds
        firsts = self._firsts(found)
        order = sorted(range(len(found)), key=firsts.__getitem__)
        self.alike = [found[at] for at in order]
        self._first = [firsts[at] for at in order]
        self.times = {one.name: one.times for one in self.alike if one.times > 1}

    def __len__(self) -> int:
        """How many tensors there are."""
        return sum(len(shard.tensors) for shard in self.whole)

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """Those that were read, with the tensors that are looked at."""
        made: list[Shard] = []
        at = end = 0
        for shard in self.whole:
            end += len(shard.tensors)
            stop = bisect_left(self._first, end)
            rows = (self._row(one) for one in self.alike[at:stop])
            made.append(replace(shard, tensors=tuple(rows)))
            at = stop
        return tuple(made)

    def _row(self, one: Alike) -> StoredTensor:
        kind = self._kinds[one.kind]
        return StoredTensor(one.name, kind.dtype, kind.shape, kind.elements, kind.nbytes)

    def parts(self) -> Iterator[tuple[Shard, StoredTensors]]:
        """The shards with all their tensors."""
        return ((shard, _tensors(shard)) for shard in self.whole)

    def names(self, wanted: Iterable[str]) -> list[tuple[str, str]]:
        """The names of all tensors that are alike with those of these names, in order, each with
        the one that it is alike with."""
        chosen = set(wanted)
        found = [one for one in self.alike if one.name in chosen]
        if all(one.times == 1 for one in found):
            return [(one.name, one.name) for one in found]
        names = chain.from_iterable(tensors.names() for _, tensors in self.parts())
        alike = (self.alike[at].name for at in self._numbers())
        return [pair for pair in zip(names, alike, strict=True) if pair[1] in chosen]

    def first_name(self, name: str) -> str:
        """Of the tensors that are alike with the one of this name the first one's."""
        return name if name not in self.times else self.names([name])[0][0]

    def _numbers(self) -> Iterator[int]:
        """Of each tensor which of ``alike`` it is one of."""
        for _, tensors in self.parts():
            left = [
                map(self.finder(kind), keys)
                for kind, keys in zip(tensors.kinds, tensors.keys, strict=True)
            ]
            yield from map(next, map(left.__getitem__, tensors.which))

    def finder(self, kind: StoredKind) -> Callable[[int], int]:
        """What finds which of ``alike`` the tensors of a kind are, by their keys."""
        return self._finders[self._number[kind]]

    @cached_property
    def _finders(self) -> list[Callable[[int], int]]:
        return [_finder(own, self.alike) for own in self._by_kind(self.alike)]

    def _by_kind(self, found: Sequence[Alike]) -> list[list[int]]:
        of_kind: list[list[int]] = [[] for _ in self._kinds]
        for at, one in enumerate(found):
            of_kind[one.kind].append(at)
        return of_kind

    def _firsts(self, found: Sequence[Alike]) -> dict[int, int]:
        """Where among all tensors the first of each is."""
        of_kind = self._by_kind(found)
        finders = {at: _finder(own, found) for at, own in enumerate(of_kind) if len(own) > 1}
        firsts: dict[int, int] = {}
        before = 0
        for shard in self.whole:
            tensors = _tensors(shard)
            left: list[Iterator[int] | None] = []
            for local, kind in enumerate(map(self._number.__getitem__, tensors.kinds)):
                finder = finders.get(kind)
                if finder is None and of_kind[kind][0] not in firsts:
                    firsts[of_kind[kind][0]] = before + tensors.which.index(local)
                left.append(None if finder is None else map(finder, tensors.keys[local]))
            if any(left):
                for place, local in enumerate(tensors.which, before):
                    numbers = left[local]
                    if numbers is not None:
                        firsts.setdefault(next(numbers), place)
            before += len(tensors)
        return firsts


def _finder(own: Sequence[int], found: Sequence[Alike]) -> Callable[[int], int]:
    if len(own) == 1:
        return lambda _key, at=own[0]: at  # type: ignore[misc]
    return {key: at for at in own for key in found[at].members()}.__getitem__


def _tensors(shard: Shard) -> StoredTensors:
    assert isinstance(shard.tensors, StoredTensors)
    return shard.tensors


def fold_tensors(
    shards: Sequence[Shard], prediction: Prediction | None, routing: Routing | None = None
) -> Fold | None:
    """The tensors that are alike, next to what is predicted of them; None where each has to be
    looked at: a name is there twice, hardly two differ in numbers alone, or it is not a format
    whose tensors are known to be no views of each other.

    ``routing`` is that of the config: which numbers are experts that serve a token depends on it.
    """
    keys: dict[StoredKind, list[Sequence[int]]] = {}
    for shard in shards:
        if not isinstance(shard.tensors, StoredTensors):
            return None
        for kind, own in zip(shard.tensors.kinds, shard.tensors.keys, strict=True):
            keys.setdefault(kind, []).append(own)
    predicted = numbers_predicted(prediction)
    total = sum(len(shard.tensors) for shard in shards)
    many = max(total // 2, MANY_KINDS)
    if predicted is None or len(keys) > many:
        return None
    if any(_has_more_numbers(kind, parts, many) for kind, parts in keys.items()):
        return None
    if not are_distinct((kind.pattern, own) for kind, parts in keys.items() for own in parts):
        return None
    groups = [
        (at, texts_of(kind.pattern), sorted(chain.from_iterable(parts)))
        for at, (kind, parts) in enumerate(keys.items())
    ]
    return Fold(shards, tuple(keys), list(_split(groups, "", (), predicted, routing)))


def _has_more_numbers(kind: StoredKind, parts: Sequence[Sequence[int]], many: int) -> bool:
    """Whether the names have more than so many first numbers, with others after them: so many
    layers no model has, and each would be looked at by itself."""
    width = width_of(kind.pattern)
    if width < 2 or sum(map(len, parts)) <= many:
        return False
    shift = NUMBER_BITS * (width - 1)
    return len({key >> shift for key in chain.from_iterable(parts)}) > many


def _split(
    groups: Iterable[_Group],
    name: str,
    numbers: tuple[tuple[int, ...], ...],
    predicted: Numbers,
    routing: Routing | None,
) -> Iterator[Alike]:
    """What is alike of tensors whose names begin with ``name``, or as that with others of the
    ``numbers``."""
    by_head: dict[str, list[_Group]] = {}
    for kind, texts, keys in groups:
        if len(texts) == 1:
            yield Alike(kind, numbers, name + texts[0])
        else:
            by_head.setdefault(texts[0], []).append((kind, texts[1:], keys))
    for head, own in by_head.items():
        rests = {kind: texts for kind, texts, _ in own}
        experts = routing if routing and is_list_of_experts(head) else None
        alike: dict[object, list[int]] = {}
        held = _held(own)
        for number, parts in held.items():
            is_one = experts is not None and number < experts[1]
            key = (*parts, predicted.below(head, number), is_one)
            alike.setdefault(key, []).append(number)
        for same in alike.values():
            inner = [(kind, rests[kind], _keys(spelled)) for kind, spelled in held[same[0]]]
            below = predicted.inside(head, same[0])
            places = (*numbers, tuple(same))
            yield from _split(inner, f"{name}{head}{same[0]}", places, below, routing)


def _held(groups: Iterable[_Group]) -> dict[int, list[tuple[int, _Spelled]]]:
    """What stands below each number: kinds, and the keys of the rest of their names."""
    held: dict[int, list[tuple[int, _Spelled]]] = {}
    for kind, texts, keys in groups:
        shift = NUMBER_BITS * (len(texts) - 1)
        if not shift:
            nothing = (kind, (0, 0))
            for number in keys:
                held.setdefault(number, []).append(nothing)
            continue
        at = 0
        while at < len(keys):
            number = keys[at] >> shift
            end = bisect_left(keys, (number + 1) << shift, at)
            held.setdefault(number, []).append((kind, _spelled(keys[at:end], number << shift)))
            at = end
    return held


def _spelled(keys: _Keys, base: int) -> _Spelled:
    first, last = keys[0] - base, keys[-1] - base
    if last - first == len(keys) - 1:  # no key is there twice
        return first, last
    return array("Q", (key - base for key in keys)).tobytes()


def _keys(spelled: _Spelled) -> _Keys:
    if isinstance(spelled, bytes):
        return array("Q", spelled)
    return range(spelled[0], spelled[1] + 1)
