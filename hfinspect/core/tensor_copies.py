"""Tensors as templates and the places where they are: the 256 experts of 58 equal layers once.

What a config predicts is mostly copies: layers differ in the head of their names and in their
number alone. Sums and counts are taken over a template and multiplied by its places; a tuple of all
tensors is made when someone looks at one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import repeat
from typing import Any, Generic, TypeVar

from .lazy_sequence import Counted
from .records import dataclass
from .tensor import TensorInfo, TensorSpec

T = TypeVar("T", TensorSpec, TensorInfo)
U = TypeVar("U", TensorSpec, TensorInfo)


class Template(Generic[T]):
    """Tensors that occur together, with names, stacks and layers relative to their place."""

    def __init__(self, rows: Iterable[T]) -> None:
        self.rows: tuple[T, ...] = tuple(rows)

    @cached_property
    def columns(self) -> tuple[tuple[Any, ...], ...]:
        """The fields of the tensors, one tuple each: a layer of 256 experts is copied column by
        column, several times as fast as tensor by tensor."""
        return tuple(zip(*self.rows, strict=True))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Where among the rows each name is."""
        return {row.name: at for at, row in enumerate(self.rows)}


@dataclass(frozen=True)
class Place(Generic[T]):
    """Where a template is: ``head`` comes before its names. In a list of layers, ``layer`` is the
    number of this one and ``stack`` the name of the list."""

    template: Template[T]
    head: str = ""
    stack: str = ""
    layer: int | None = None

    def rows(self) -> Iterable[T]:
        """The tensors with their full names."""
        template, head, stack, layer = self.template, self.head, self.stack, self.layer
        if not head or not template.rows:
            return template.rows
        kind = type(template.rows[0])
        at_name, at_stack, at_layer = map(kind._fields.index, ("name", "stack", "layer"))
        columns: list[Iterable[Any]] = list(template.columns)
        inner, numbers = template.columns[at_stack], template.columns[at_layer]
        columns[at_name] = [head + name for name in template.columns[at_name]]
        if inner.count(None) < len(inner):  # the innermost list of layers gives the number
            columns[at_stack] = [
                # A list right in a list has no name of its own: blocks.0 is that of blocks.0.1.
                (head + own).rstrip(".") if own is not None else None if layer is None else stack
                for own in inner
            ]
            if layer is not None:
                columns[at_layer] = [
                    number if own is not None else layer
                    for own, number in zip(inner, numbers, strict=True)
                ]
        elif layer is not None:
            columns[at_stack], columns[at_layer] = repeat(stack), repeat(layer)
        # repeat has no end: the names give the length.
        return map(partial(tuple.__new__, kind), zip(*columns, strict=False))

    def row(self, at: int) -> T:
        """One of the tensors, by its number."""
        alone = Place(Template([self.template.rows[at]]), self.head, self.stack, self.layer)
        return next(iter(alone.rows()))


class Copies(Counted[T]):
    """A sequence of tensors, equal to the tuple of them, that counts without making them."""

    def __init__(self, places: Iterable[Place[T]] = ()) -> None:
        self._places: tuple[Place[T], ...] = tuple(places)

    def made(self) -> Iterator[T]:
        return (row for place in self._places for row in place.rows())

    @cached_property
    def _by_head(self) -> dict[str, list[Place[T]]]:
        places: dict[str, list[Place[T]]] = {}
        for place in self._places:
            places.setdefault(place.head, []).append(place)
        return places

    def find(self, name: str) -> T | None:
        """The tensor of this name, None if there is none."""
        end = name.rfind(".") + 1
        while True:
            for place in self._by_head.get(name[:end], ()):
                at = place.template.numbers.get(name[end:])
                if at is not None:
                    return place.row(at)
            if not end:
                return None
            end = name.rfind(".", 0, end - 1) + 1

    def names(self) -> Iterator[str]:
        """The names of all tensors, in order."""
        return (place.head + row.name for place in self._places for row in place.template.rows)

    def places(self) -> tuple[Place[T], ...]:
        """Where each template is, in order."""
        return self._places

    def counted(self) -> Iterator[tuple[T, int]]:
        """The tensors of each template and how often it is there, in order of first appearance.
        Their names, stacks and layers are relative: for sums over anything else."""
        counts: dict[int, list[Any]] = {}
        for place in self._places:
            counts.setdefault(id(place.template), [place.template, 0])[1] += 1
        for template, count in counts.values():
            for row in template.rows:
                yield row, count

    def each(self, change: Callable[[Sequence[T]], Iterable[U]]) -> Copies[U]:
        """These with every template changed, once: tensors left out, or made into others."""
        made: dict[int, Template[U]] = {}
        for place in self._places:
            key = id(place.template)
            if key not in made:
                made[key] = Template(change(place.template.rows))
        places = (Place(made[id(p.template)], p.head, p.stack, p.layer) for p in self._places)
        return Copies(place for place in places if place.template.rows)

    def where(self, keep: Callable[[T], bool]) -> Copies[T]:
        """Those that ``keep`` is true of; it must not depend on name, stack or layer."""
        return self.each(lambda rows: [row for row in rows if keep(row)])

    def __len__(self) -> int:
        return sum(len(place.template.rows) for place in self._places)


def each(tensors: Iterable[T], change: Callable[[Iterable[T]], Iterable[T]]) -> Iterable[T]:
    """The tensors changed, template by template where there are any: see ``Copies.each``."""
    return tensors.each(change) if isinstance(tensors, Copies) else change(tensors)
