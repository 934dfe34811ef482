"""Sequences that are equal to a tuple, whose items are made when someone looks at one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import TypeVar, overload

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """The items of ``make_items``, made once; how many there are is known before."""

    @abstractmethod
    def make_items(self) -> Iterable[T]:
        """The items, each time anew."""

    @abstractmethod
    def __len__(self) -> int: ...

    @cached_property
    def _all(self) -> tuple[T, ...]:
        return tuple(self.make_items())

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        return self._all[at]

    def __iter__(self) -> Iterator[T]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazySequence):
            return self is other or self._all == other._all
        return self._all == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return repr(self._all)


class Counted(LazySequence[T]):
    """One that counts without making its items."""

    @abstractmethod
    def counted(self) -> Iterable[tuple[T, int]]:
        """One item for all that are alike, and how many these are. What their names have of their
        own (numbers, or what comes before) differs, and with it the layer."""


class InLayers(Counted[T]):
    """One that also counts by layers."""

    @abstractmethod
    def in_layers(self) -> Iterable[tuple[T, str | None, int | None, int]]:
        """One item for all that are alike, for each layer in which there are such: with the stack
        and the number of the layer, and how many of them it has. None for what is in no layer."""


def counted(items: Iterable[T]) -> Iterable[tuple[T, int]]:
    """Each item and 1; or those that are alike once, where that is known."""
    return items.counted() if isinstance(items, Counted) else zip(items, repeat(1))
