"""Layers that are equal, and tensors that differ in numbers of their names alone: what is left of
a large model when everything that is said twice is said once.

The 91,991 tensors of DeepSeek-V3 with their scales are three kinds of layers and some seventy
patterns. Every sum is exact; nothing is left out.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from ..core.records import dataclass
from ..core.tensor import TensorInfo
from ..core.tensor_copies import Copies
from .differences import ranges

#: A number between dots: of an expert, a stage. More digits are a name, and no number.
NUMBER = re.compile(r"(?<![^./])[0-9]{1,9}(?![^./])")

T = TypeVar("T")


class Pattern(NamedTuple):
    """Tensors that differ in numbers of their names alone, in all layers that have them.

    Fields:
        stack: dotted name of the list of layers; empty outside of layers
        layers [indices, from 0]: that have it
        inside: the name within the layer, with ranges for other numbers
        shape [elements along each axis]: of each tensor
        dtype: of each tensor; None if unknown
        component: embedding, attention, mlp, ...
        role: ``parameter``, ``buffer`` or ``quantization`` (its bookkeeping)
        part: text, vision, ...
        tied: whether another tensor is counted in its place
        extra_kind: why the class does not define it; None if it does
        tensors [tensors]: how many there are
        parameters [parameters]: of all of them, unique ones of the class: 0 for what is tied or
            beyond it; None where one is unknown
        nbytes [bytes]: of all of them as stored, those of a shared storage once; None where one is
            unknown
    """

    stack: str
    layers: tuple[int, ...]
    inside: str
    shape: tuple[int, ...]
    dtype: str | None
    component: str
    role: str
    part: str
    tied: bool
    extra_kind: str | None
    tensors: int
    parameters: int | None
    nbytes: int | None

    @property
    def name(self) -> str:
        """The whole name: ``model.layers.[3-60].mlp.experts.[0-255].up_proj.weight``."""
        return f"{self.stack}.{_ranged(self.layers)}.{self.inside}" if self.stack else self.inside


@dataclass(frozen=True)
class QuantizationKind:
    """Equal layers of one list: which, and what one of them holds. ``components`` has parameters
    and bytes of one layer, None where unknown; ``is_extra`` is True for layers that the class does
    not hold: their parameters are those in the file, which the class does not count."""

    stack: str
    layers: tuple[int, ...]
    parameters: int | None
    nbytes: int | None
    components: Mapping[str, tuple[int | None, int | None]] = field(hash=False)
    is_extra: bool = False


@dataclass(frozen=True)
class Folded:
    """``kinds`` in the order of their first layer, ``patterns`` in the order of the model."""

    kinds: tuple[QuantizationKind, ...]
    patterns: tuple[Pattern, ...]


class _KindRow(NamedTuple):
    """A tensor without its place: ``name`` is that within its layer. ``in_file`` are the parameters
    of a tensor that the class may not load, ``parameters`` those that the class counts."""

    name: str
    shape: tuple[int, ...]
    dtype: str | None
    component: str
    role: str
    part: str
    tied: bool
    extra_kind: str | None
    parameters: int | None
    nbytes: int | None
    in_file: int | None


_NAME = itemgetter(0)


def fold(tensors: Iterable[TensorInfo]) -> Folded:
    """Kinds of layers and patterns of tensors. Two layers are of a kind if their tensors have the
    same names, shapes, dtypes and labels."""
    outside, layers = _by_layer(tensors)
    kinds: dict[tuple[str, tuple[_KindRow, ...]], list[int]] = {}
    for (stack, layer), rows in layers.items():
        kinds.setdefault((stack, rows), []).append(layer)
    ordered = [(stack, tuple(sorted(of)), rows) for (stack, rows), of in kinds.items()]
    patterns = list(_patterns("", (), outside)) if outside else []
    inner = [pattern for stack, of, rows in ordered for pattern in _patterns(stack, of, rows)]
    return Folded(
        tuple(_kind(stack, of, rows) for stack, of, rows in ordered),
        tuple(sorted((*patterns, *_joined(inner)), key=_order(ordered))),
    )


def _by_layer(
    tensors: Iterable[TensorInfo],
) -> tuple[list[_KindRow], dict[tuple[str, int], tuple[_KindRow, ...]]]:
    """The tensors outside of layers, and those of each layer by their name in it, in order."""
    outside: list[_KindRow] = []
    layers: dict[tuple[str, int], tuple[_KindRow, ...]] = {}
    if isinstance(tensors, Copies):
        rows_by_layer: dict[int, tuple[_KindRow, ...]] = {}
        for place in tensors.places():
            stack = place.stack
            layer = place.layer
            rows = place.template.rows
            if layer is None or place.head != f"{stack}.{layer}." or any(r.stack for r in rows):
                _stored(place.rows(), outside, layers)
                continue
            key = id(place.template)
            if key not in rows_by_layer:
                rows_by_layer[key] = tuple(sorted((_row(row, row.name) for row in rows), key=_NAME))
            layers[stack, layer] = layers.get((stack, layer), ()) + rows_by_layer[key]
    else:
        _stored(tensors, outside, layers)
    return outside, layers


def _stored(
    tensors: Iterable[TensorInfo],
    outside: list[_KindRow],
    layers: dict[tuple[str, int], tuple[_KindRow, ...]],
) -> None:
    """Tensors with their full names, sorted into what is outside and the layers."""
    rows_of: dict[tuple[str, int], list[_KindRow]] = {}
    for tensor in tensors:
        stack = tensor.stack
        layer = tensor.layer
        # The list of a pipeline's part is "unet/down_blocks"; names of tensors lack the part.
        head = "" if stack is None else f"{stack.removeprefix(f'{tensor.part}/')}.{layer}."
        if stack and layer is not None and tensor.name.startswith(head):
            rows_of.setdefault((stack, layer), []).append(_row(tensor, tensor.name[len(head) :]))
        else:
            outside.append(_row(tensor, tensor.name))
    for place, rows in rows_of.items():
        layers[place] = layers.get(place, ()) + tuple(sorted(rows, key=_NAME))


def _row(t: TensorInfo, name: str) -> _KindRow:
    counted = t.tied_to is None and t.extra_kind is None
    nbytes = t.nbytes if t.shared is None else t.own_nbytes
    return _KindRow(
        name,
        t.shape,
        t.dtype,
        t.component.value,
        t.role.value,
        t.part,
        t.tied_to is not None,
        t.extra_kind,
        t.parameters if counted else 0,
        nbytes,
        t.parameters if t.tied_to is None else 0,
    )


def _kind(stack: str, layers: tuple[int, ...], rows: Sequence[_KindRow]) -> QuantizationKind:
    components: dict[str, tuple[int | None, int | None]] = {}
    is_extra = all(row.extra_kind is not None for row in rows)
    for row in rows:
        parameters, nbytes = components.get(row.component, (0, 0))
        count = row.in_file if is_extra else row.parameters
        components[row.component] = _plus(parameters, count), _plus(nbytes, row.nbytes)
    sums: tuple[int | None, int | None] = (0, 0)
    for one, size in components.values():
        sums = _plus(sums[0], one), _plus(sums[1], size)
    return QuantizationKind(stack, layers, *sums, components, is_extra)


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _patterns(stack: str, layers: tuple[int, ...], rows: Iterable[_KindRow]) -> Iterator[Pattern]:
    """Tensors of a layer, those that differ in numbers of their names alone together."""
    alike: dict[Any, list[tuple[tuple[int, ...], _KindRow]]] = {}
    for row in rows:
        texts = NUMBER.findall(row.name)
        masked = NUMBER.sub("#", row.name) if texts else row.name
        # Not of numbers and sizes: equal shapes and dtypes have equal ones, but for views.
        key = (masked, *row[1:8])
        alike.setdefault(key, []).append((tuple(map(int, texts)), row))
    for group in alike.values():
        for values, members in grids(group):
            yield _pattern(stack, layers, _inside(members[0].name, values), members)


def grids(
    group: Sequence[tuple[tuple[int, ...], T]], place: int = 0
) -> list[tuple[list[list[int]], list[T]]]:
    """The group whole where every combination of its numbers is there, else one for each value at
    ``place``: the values of each number, and what they belong to."""
    values = [sorted(set(column)) for column in zip(*(n for n, _ in group), strict=True)]
    if math.prod(map(len, values)) == len(group) or place >= len(values):
        return [(values, [member for _, member in group])]
    split: dict[int, list[tuple[tuple[int, ...], T]]] = {}
    for item in group:
        split.setdefault(item[0][place], []).append(item)
    return [grid for part in split.values() for grid in grids(part, place + 1)]


def _inside(name: str, values: Sequence[Sequence[int]]) -> str:
    """The name with a range for each number."""
    left = iter(values)
    return NUMBER.sub(lambda _: _ranged(next(left)), name)


def _pattern(stack: str, layers: tuple[int, ...], name: str, rows: Sequence[_KindRow]) -> Pattern:
    times = max(len(layers), 1)
    first = rows[0]
    parameters: int | None = 0
    nbytes: int | None = 0
    for row in rows:
        parameters = _plus(parameters, row.parameters)
        nbytes = _plus(nbytes, row.nbytes)
    return Pattern(
        stack,
        layers,
        name,
        *first[1:8],
        times * len(rows),
        None if parameters is None else parameters * times,
        None if nbytes is None else nbytes * times,
    )


def _joined(patterns: Iterable[Pattern]) -> Iterator[Pattern]:
    """The same pattern of several kinds of layers as one."""
    alike: dict[Any, list[Pattern]] = {}
    for pattern in patterns:
        each = len(pattern.layers)
        sizes = tuple(
            None if number is None else number // each
            for number in (pattern.tensors, pattern.parameters, pattern.nbytes)
        )
        alike.setdefault((pattern.stack, *pattern[2:10], sizes), []).append(pattern)
    for group in alike.values():
        parameters: int | None = 0
        nbytes: int | None = 0
        for one in group:
            parameters = _plus(parameters, one.parameters)
            nbytes = _plus(nbytes, one.nbytes)
        yield group[0]._replace(
            layers=tuple(sorted(layer for one in group for layer in one.layers)),
            tensors=sum(one.tensors for one in group),
            parameters=parameters,
            nbytes=nbytes,
        )


def _order(kinds: Sequence[tuple[str, tuple[int, ...], Any]]) -> Any:
    """Before the layers what makes tokens, then layers by their first, then the rest."""
    stacks = {stack: i for i, (stack, _, _) in enumerate(reversed(kinds))}
    front = {"embedding": 0, "conv": 1}

    def key(pattern: Pattern) -> tuple[int, int, int, int]:
        if not pattern.stack:
            before = front.get(pattern.component)
            return (0, before, 0, 0) if before is not None else (2, 0, 0, 0)
        return 1, -stacks[pattern.stack], int(pattern.extra_kind is not None), pattern.layers[0]

    return key


def _ranged(numbers: Sequence[int]) -> str:
    """``7``, ``[0-31]``, ``[0-2,4]``."""
    return str(numbers[0]) if len(numbers) == 1 else f"[{ranges(numbers).replace(' ', '')}]"
