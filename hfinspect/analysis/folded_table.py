"""A table in which one tensor stands for all that are alike, and the labelled tensors of it, which
are made when someone looks at one."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import NamedTuple, NoReturn

from ..core.checkpoint import Shard
from ..core.lazy_sequence import InLayers
from ..core.stored_tensors import (
    MARK,
    StoredKind,
    StoredTensors,
    fold_names,
    key_of,
    numbers_of,
    width_of,
)
from ..core.tensor import StoredTensor, TensorInfo
from .tensor_table import NotAlikeError, TensorTable


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


class FoldedTable(TensorTable):
    """The shards of a checkpoint with one tensor for all that are alike, where the first of these
    is. ``alike`` are these groups, in the order of their first tensor.
    """

    def __init__(
        self, files: Sequence[Shard], kinds: Sequence[StoredKind], groups: Sequence[Alike]
    ) -> None:
        super().__init__(files)
        self._number = {kind: at for at, kind in enumerate(kinds)}
        self._kinds = kinds
        firsts = self._firsts(groups)
        order = sorted(range(len(groups)), key=firsts.__getitem__)
        self.alike = [groups[at] for at in order]
        self._first = [firsts[at] for at in order]
        self._times = {one.name: one.times for one in self.alike if one.times > 1}

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        shards: list[Shard] = []
        at = end = 0
        for shard in self._files:
            end += len(shard.tensors)
            stop = bisect_left(self._first, end)
            rows = (self._row(one) for one in self.alike[at:stop])
            shards.append(replace(shard, tensors=tuple(rows)))
            at = stop
        return tuple(shards)

    def _row(self, one: Alike) -> StoredTensor:
        kind = self._kinds[one.kind]
        return StoredTensor(one.name, kind.dtype, kind.shape, kind.elements, kind.nbytes)

    def parts(self) -> Iterator[tuple[Shard, StoredTensors]]:
        """The shards with all their tensors."""
        return ((shard, _tensors(shard)) for shard in self._files)

    def groups(self, shard: Shard) -> Iterable[tuple[StoredTensor, int]]:
        return ((tensor, self._times.get(tensor.name, 1)) for tensor in shard.tensors)

    def total(self, name: str, amount: int = 1) -> int:
        return amount * self._times.get(name, 1)

    def is_alone(self, name: str) -> bool:
        return name not in self._times

    def look_at_each(self) -> NoReturn:
        raise NotAlikeError

    def labelled(self, infos: Sequence[TensorInfo]) -> "FoldedTensors":
        return FoldedTensors(self, infos)

    def names(self, names_here: Iterable[str]) -> list[tuple[str, str]]:
        chosen = set(names_here)
        wanted_groups = [one for one in self.alike if one.name in chosen]
        if all(one.times == 1 for one in wanted_groups):
            return [(one.name, one.name) for one in wanted_groups]
        names = chain.from_iterable(tensors.names() for _, tensors in self.parts())
        alike = (self.alike[at].name for at in self._numbers())
        return [pair for pair in zip(names, alike, strict=True) if pair[1] in chosen]

    def first_name(self, name: str) -> str:
        return name if self.is_alone(name) else self.names([name])[0][0]

    def renamed(self, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
        if self._times:
            _check_spellings(pairs)
        groups = {one.name: one for one in self.alike}
        return chain.from_iterable(_names_elsewhere(groups[name], other) for name, other in pairs)

    def _numbers(self) -> Iterator[int]:
        """Of each tensor which of ``alike`` it is one of."""
        for _, tensors in self.parts():
            left = [
                map(self.finder(kind), keys)
                for kind, keys in zip(tensors.kinds, tensors.keys, strict=True)
            ]
            yield from map(next, map(left.__getitem__, tensors.kind_numbers))

    def finder(self, kind: StoredKind) -> Callable[[int], int]:
        """What finds which of ``alike`` the tensors of a kind are, by their keys."""
        return self._finders[self._number[kind]]

    @cached_property
    def _finders(self) -> list[Callable[[int], int]]:
        return [_finder(members, self.alike) for members in self._by_kind(self.alike)]

    def _by_kind(self, groups: Sequence[Alike]) -> list[list[int]]:
        of_kind: list[list[int]] = [[] for _ in self._kinds]
        for at, one in enumerate(groups):
            of_kind[one.kind].append(at)
        return of_kind

    def _firsts(self, groups: Sequence[Alike]) -> dict[int, int]:
        """Where among all tensors the first of each is."""
        of_kind = self._by_kind(groups)
        finders = {at: _finder(ids, groups) for at, ids in enumerate(of_kind) if len(ids) > 1}
        firsts: dict[int, int] = {}
        before = 0
        for shard in self._files:
            tensors = _tensors(shard)
            left: list[Iterator[int] | None] = []
            for local, kind in enumerate(map(self._number.__getitem__, tensors.kinds)):
                finder = finders.get(kind)
                if finder is None and of_kind[kind][0] not in firsts:
                    firsts[of_kind[kind][0]] = before + tensors.kind_numbers.index(local)
                left.append(None if finder is None else map(finder, tensors.keys[local]))
            if any(left):
                for place, local in enumerate(tensors.kind_numbers, before):
                    numbers = left[local]
                    if numbers is not None:
                        firsts.setdefault(next(numbers), place)
            before += len(tensors)
        return firsts


def _finder(members: Sequence[int], groups: Sequence[Alike]) -> Callable[[int], int]:
    if len(members) == 1:
        return lambda _key, at=members[0]: at  # type: ignore[misc]
    return {key: at for at in members for key in groups[at].members()}.__getitem__


def _tensors(shard: Shard) -> StoredTensors:
    assert isinstance(shard.tensors, StoredTensors)
    return shard.tensors


class _LayerPattern(NamedTuple):
    """Where the layer is in names: a template for the stack, and how many of the first numbers make
    it and the layer, which is the last of them; none where the layer is the same for all."""

    stack: str | None
    numbers: int = 0


class FoldedTensors(InLayers[TensorInfo]):
    """The tensors of a table, with the labels of those that are looked at (``infos``, in the order
    of ``table.alike``).

    Raises NotAlikeError where the layer of a tensor does not follow from the numbers in its name.
    """

    def __init__(self, table: FoldedTable, infos: Sequence[TensorInfo]) -> None:
        self._table = table
        self._infos = tuple(infos)
        self._layers = tuple(map(_layer, table.alike, infos))

    def __len__(self) -> int:
        return len(self._table)

    def counted(self) -> Iterable[tuple[TensorInfo, int]]:
        return zip(self._infos, (one.times for one in self._table.alike), strict=True)

    def in_layers(self) -> Iterator[tuple[TensorInfo, str | None, int | None, int]]:
        """The tensors that are looked at; see ``core.lazy_sequence.InLayers``."""
        for info, layer, one in zip(self._infos, self._layers, self._table.alike, strict=True):
            rest = prod(map(len, one.numbers[layer.numbers :]))
            if not layer.numbers:
                yield info, info.stack, info.layer, rest
            for stack, number in _stacks(layer, one.numbers[: layer.numbers]):
                yield info, stack, number, rest

    def make_items(self) -> Iterator[TensorInfo]:
        for shard, tensors in self._table.parts():
            left = [
                self._of_kind(kind, keys, shard.file)
                for kind, keys in zip(tensors.kinds, tensors.keys, strict=True)
            ]
            yield from map(next, map(left.__getitem__, tensors.kind_numbers))

    def _of_kind(self, kind: StoredKind, keys: Sequence[int], file: str) -> Iterator[TensorInfo]:
        find = self._table.finder(kind)
        infos = self._infos
        layers = self._layers
        width = width_of(kind.pattern)
        new = tuple.__new__
        for key in keys:
            at = find(key)
            info = infos[at]
            layer = layers[at]
            numbers = numbers_of(key, width)
            stack = layer.stack
            number = info[5]
            if layer.numbers and stack is not None:
                number = numbers[layer.numbers - 1]
                stack = stack % numbers[: layer.numbers - 1]
            yield new(
                TensorInfo,
                (kind.pattern % numbers, *info[1:5], number, file, *info[7:12], stack, *info[13:]),
            )


def _stacks(
    layer: _LayerPattern, numbers: Sequence[Sequence[int]], before: tuple[int, ...] = ()
) -> Iterator[tuple[str, int]]:
    if len(numbers) == 1 and layer.stack is not None:
        stack = layer.stack % before
        yield from ((stack, number) for number in numbers[0])
    elif numbers:
        for number in numbers[0]:
            yield from _stacks(layer, numbers[1:], (*before, number))


def _layer(one: Alike, info: TensorInfo) -> _LayerPattern:
    stack = info.stack
    layer = info.layer
    if one.times == 1 or stack is None:
        if layer is not None and one.times > 1:
            raise NotAlikeError(info.name)
        return _LayerPattern(stack)
    text = stack if layer is None else f"{stack}.{layer}" if stack else str(layer)
    [pattern], [key] = fold_names([text])
    width = width_of(pattern)
    if not width:
        return _LayerPattern(stack)
    first = tuple(numbers[0] for numbers in one.numbers[:width])
    if layer is None or not pattern.endswith(MARK) or numbers_of(key, width) != first:
        raise NotAlikeError(info.name)
    return _LayerPattern(pattern.removesuffix(MARK).removesuffix("."), width)


def _check_spellings(pairs: Sequence[tuple[str, str]]) -> None:
    """Names of one spelling differ elsewhere if they do in the files. Raises NotAlikeError where
    the files have two spellings for one of the other naming's."""
    folded, _ = fold_names([name for name, _ in pairs])
    theirs, _ = fold_names([other for _, other in pairs])
    if len(set(zip(folded, theirs, strict=True))) > len(set(theirs)):
        raise NotAlikeError


def _names_elsewhere(one: Alike, other: str) -> Iterator[str]:
    """What another naming calls all tensors of a group, of which it calls one ``other``. Raises
    NotAlikeError where that has other numbers than the name in the files."""
    if one.times == 1:
        return iter((other,))
    [pattern], [key] = fold_names([other])
    width = width_of(pattern)
    if numbers_of(key, width) != tuple(numbers[0] for numbers in one.numbers):
        raise NotAlikeError(other)
    return (pattern % numbers_of(member, width) for member in one.members())
