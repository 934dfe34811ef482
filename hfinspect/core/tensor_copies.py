"""Tensors as templates and the places where they are: the 256 experts of 58 equal layers once.

What a config predicts is mostly copies: layers differ in the head of their names and in their
number alone, and so do the experts in a layer, a template in another. Sums and counts are taken
over a template and multiplied by its places; a tuple of all tensors is made when someone looks at
one of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, groupby, repeat
from typing import Any, Generic, TypeVar

from .lazy_sequence import InLayers
from .records import dataclass
from .tensor import TensorInfo, TensorSpec

T = TypeVar("T", TensorSpec, TensorInfo)
U = TypeVar("U", TensorSpec, TensorInfo)


class Template(Generic[T]):
    """Tensors that occur together, with names, stacks and layers relative to their place, among
    them the places of templates that are in this one."""

    def __init__(self, items: "Iterable[T | Place[T]]") -> None:
        self.items: tuple[T | Place[T], ...] = tuple(items)

    @cached_property
    def rows(self) -> tuple[T, ...]:
        """The tensors one by one."""
        some = (item.rows() if isinstance(item, Place) else (item,) for item in self.items)
        return tuple(chain.from_iterable(some))

    @cached_property
    def counts(self) -> tuple[tuple[T, int], ...]:
        """The tensors of ``rows``, those of an inner template once, with their number."""
        return tuple(_counted(self.items))

    @cached_property
    def has_layers(self) -> bool:
        """Whether some of the tensors are in a list of layers of their own."""
        return any(
            item.layer is not None or item.template.has_layers
            if isinstance(item, Place)
            else item.stack is not None
            for item in self.items
        )

    def __len__(self) -> int:
        return sum(count for _, count in self.counts)

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
        template = self.template
        head = self.head
        stack = self.stack
        layer = self.layer
        if not head or not template.items:
            return template.rows
        kind = type(template.rows[0])
        at_name, at_stack, at_layer = map(kind._fields.index, ("name", "stack", "layer"))
        columns: list[Iterable[Any]] = list(template.columns)
        inner = template.columns[at_stack]
        numbers = template.columns[at_layer]
        columns[at_name] = [head + name for name in template.columns[at_name]]
        if inner.count(None) < len(inner):  # the innermost list of layers gives the number
            columns[at_stack] = [
                # A list right in a list has no name of its own: blocks.0 is that of blocks.0.1.
                (head + text).rstrip(".") if text is not None else None if layer is None else stack
                for text in inner
            ]
            if layer is not None:
                columns[at_layer] = [
                    number if text is not None else layer
                    for text, number in zip(inner, numbers, strict=True)
                ]
        elif layer is not None:
            columns[at_stack] = repeat(stack)
            columns[at_layer] = repeat(layer)
        # repeat has no end: the names give the length.
        return map(partial(tuple.__new__, kind), zip(*columns, strict=False))

    def row(self, at: int) -> T:
        """One of the tensors, by its number."""
        alone = Place(Template([self.template.rows[at]]), self.head, self.stack, self.layer)
        return next(iter(alone.rows()))


def _counted(items: Iterable[T | Place[T]]) -> Iterator[tuple[T, int]]:
    """Each tensor, those of a template once, with how often it is there; in order of first
    appearance."""
    counts: dict[int, list[Any]] = {}
    for item in items:
        one = item.template if isinstance(item, Place) else item
        counts.setdefault(id(one), [one, 0])[1] += 1
    for one, count in counts.values():
        if isinstance(one, Template):
            yield from ((row, inside * count) for row, inside in one.counts)
        else:
            yield one, count


def _changed(
    items: Iterable[T | Place[T]],
    change: Callable[[Sequence[T]], Iterable[U]],
    copies: dict[int, Template[U]],
) -> Iterator[U | Place[U]]:
    """The items with every template changed that is not in ``copies`` yet; empty ones left out."""
    loose: list[T] = []
    for item in items:
        if not isinstance(item, Place):
            loose.append(item)
            continue
        yield from change(loose)
        loose = []
        template = item.template
        if id(template) not in copies:
            copies[id(template)] = Template(_changed(template.items, change, copies))
        if copies[id(template)].items:
            yield Place(copies[id(template)], item.head, item.stack, item.layer)
    yield from change(loose)


class Copies(InLayers[T]):
    """A sequence of tensors, equal to the tuple of them, that counts without making them."""

    def __init__(self, items: Iterable[T | Place[T]] = ()) -> None:
        places: list[Place[T]] = []
        for is_place, some in groupby(items, lambda item: isinstance(item, Place)):
            if is_place:
                places.extend(some)  # type: ignore[arg-type]
            else:
                places.append(Place(Template(some)))
        self._places: tuple[Place[T], ...] = tuple(places)

    def make_items(self) -> Iterator[T]:
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
        return _counted(self._places)

    def in_layers(self) -> Iterator[tuple[T, str | None, int | None, int]]:
        for place in self._places:
            if place.layer is None or place.template.has_layers:
                yield from ((row, row.stack, row.layer, 1) for row in place.rows())
            else:
                for row, count in place.template.counts:
                    yield row, place.stack, place.layer, count

    def each(self, change: Callable[[Sequence[T]], Iterable[U]]) -> "Copies[U]":
        """These with every template changed, once: tensors left out, or made into others, each by
        itself. What is in a template in another comes apart from the rest of that one."""
        return Copies(_changed(self._places, change, {}))

    def where(self, keep: Callable[[T], bool]) -> "Copies[T]":
        """Those that ``keep`` is true of; it must not depend on name, stack or layer."""
        return self.each(lambda rows: [row for row in rows if keep(row)])

    def __len__(self) -> int:
        return sum(len(place.template) for place in self._places)


def mapped(tensors: Sequence[T], change: Callable[[T], T]) -> Sequence[T]:
    """Every tensor changed, template by template where there are any: see ``Copies.each``."""
    if isinstance(tensors, Copies):
        return tensors.each(lambda some: map(change, some))
    return tuple(map(change, tensors))
