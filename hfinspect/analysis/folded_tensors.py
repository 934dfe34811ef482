"""All tensors of a fold with their labels, made when someone looks at one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from ..core.lazy_sequence import InLayers
from ..core.stored_tensors import MARK, StoredKind, fold_names, numbers_of, width_of
from ..core.tensor import TensorInfo, TensorSpec
from .folding import Alike, Fold


class NotAlikeError(Exception):
    """Tensors that were taken for alike have to be looked at one by one."""


class _Layer(NamedTuple):
    """Where the layer is in names: a template for the stack, and how many of the first numbers make
    it and the layer, which is the last of them; none where the layer is the same for all."""

    stack: str | None
    numbers: int = 0


class FoldedTensors(InLayers[TensorInfo]):
    """The tensors of a ``fold``, with the labels of those that are looked at (``infos``, in the
    order of ``fold.alike``).

    Raises NotAlikeError where the layer of a tensor does not follow from the numbers in its name.
    """

    def __init__(self, fold: Fold, infos: Sequence[TensorInfo]) -> None:
        self._fold = fold
        self._infos = tuple(infos)
        self._layers = tuple(map(_layer, fold.alike, infos))

    def __len__(self) -> int:
        return len(self._fold)

    def counted(self) -> Iterable[tuple[TensorInfo, int]]:
        return zip(self._infos, (one.times for one in self._fold.alike), strict=True)

    def in_layers(self) -> Iterator[tuple[TensorInfo, str | None, int | None, int]]:
        """The tensors that are looked at; see ``core.made_later.InLayers``."""
        for info, layer, one in zip(self._infos, self._layers, self._fold.alike, strict=True):
            rest = prod(map(len, one.numbers[layer.numbers :]))
            if not layer.numbers:
                yield info, info.stack, info.layer, rest
            for stack, number in _stacks(layer, one.numbers[: layer.numbers]):
                yield info, stack, number, rest

    def made(self) -> Iterator[TensorInfo]:
        for shard, tensors in self._fold.parts():
            left = [
                self._of_kind(kind, keys, shard.file)
                for kind, keys in zip(tensors.kinds, tensors.keys, strict=True)
            ]
            yield from map(next, map(left.__getitem__, tensors.which))

    def _of_kind(self, kind: StoredKind, keys: Sequence[int], file: str) -> Iterator[TensorInfo]:
        find, infos, layers = self._fold.finder(kind), self._infos, self._layers
        width = width_of(kind.pattern)
        new = tuple.__new__
        for key in keys:
            at = find(key)
            info, layer = infos[at], layers[at]
            numbers = numbers_of(key, width)
            stack, number = layer.stack, info[5]
            if layer.numbers and stack is not None:
                number = numbers[layer.numbers - 1]
                stack = stack % numbers[: layer.numbers - 1]
            yield new(
                TensorInfo,
                (kind.pattern % numbers, *info[1:5], number, file, *info[7:12], stack, *info[13:]),
            )


def _stacks(
    layer: _Layer, numbers: Sequence[Sequence[int]], before: tuple[int, ...] = ()
) -> Iterator[tuple[str, int]]:
    if len(numbers) == 1 and layer.stack is not None:
        stack = layer.stack % before
        yield from ((stack, number) for number in numbers[0])
    elif numbers:
        for number in numbers[0]:
            yield from _stacks(layer, numbers[1:], (*before, number))


def _layer(one: Alike, info: TensorInfo) -> _Layer:
    stack, layer = info.stack, info.layer
    if one.times == 1 or stack is None:
        if layer is not None and one.times > 1:
            raise NotAlikeError(info.name)
        return _Layer(stack)
    text = stack if layer is None else f"{stack}.{layer}" if stack else str(layer)
    [pattern], [key] = fold_names([text])
    width = width_of(pattern)
    if not width:
        return _Layer(stack)
    first = tuple(numbers[0] for numbers in one.numbers[:width])
    if layer is None or not pattern.endswith(MARK) or numbers_of(key, width) != first:
        raise NotAlikeError(info.name)
    return _Layer(pattern.removesuffix(MARK).removesuffix("."), width)


def spec_names(one: Alike, spec: TensorSpec) -> Iterator[str]:
    """What the tree calls the tensors that are alike with one of this ``spec``. Raises
    NotAlikeError where that has other numbers than the names in the files."""
    if one.times == 1:
        return iter((spec.name,))
    [pattern], [key] = fold_names([spec.name])
    width = width_of(pattern)
    if numbers_of(key, width) != tuple(numbers[0] for numbers in one.numbers):
        raise NotAlikeError(spec.name)
    return (pattern % numbers_of(member, width) for member in one.members())
