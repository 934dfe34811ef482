"""Sums over labelled tensors."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ..core.components import Component, Role
from ..core.lazy_sequence import Counted, InLayers
from ..core.records import dataclass
from ..core.results import Totals
from ..core.tensor import TensorInfo
from ..trees.prediction import active_sum


class Sums(NamedTuple):
    """All the totals of an inspection; see ``core.results.Inspection`` for their meaning."""

    parameters: int | None
    logical: int | None
    stored: int
    buffers: int
    bookkeeping: int
    nbytes: int | None
    active: int | None


@dataclass()
class CountCell:
    """Sums of the tensors that agree in all that any total needs."""

    tensors: int = 0
    parameters: int = 0
    elements: int = 0
    nbytes: int = 0
    unknown: bool = False
    unsized: bool = False


class Key(NamedTuple):
    """What distinguishes cells."""

    component: Component
    part: str
    dtype: str | None
    role: Role
    active: tuple[int, int] | None
    is_tied: bool
    is_extra: bool

    @property
    def is_counted(self) -> bool:
        """Whether parameters are those of the class, and not counted with what they are tied to."""
        return not (self.is_tied or self.is_extra)


#: What totals need: those of a key first. Of 100,000 tensors some hundred differ in these.
_COUNTED = itemgetter(
    *map(
        TensorInfo._fields.index,
        "component part dtype role active tied_to parameters elements nbytes shared "
        "extra_kind".split(),
    )
)


def tally(tensors: Iterable[TensorInfo]) -> dict[Key, CountCell]:
    """All tensors in one pass, so that every total after it costs nothing."""
    cells: dict[Key, CountCell] = {}
    rows: Mapping[Any, int]
    if isinstance(tensors, Counted):
        rows = Counter()
        for tensor, places in tensors.counted():
            rows[_COUNTED(tensor)] += places
    else:
        rows = Counter(map(_COUNTED, tensors))
    for row, count in rows.items():
        (
            component,
            part,
            dtype,
            role,
            active,
            tied_to,
            parameters,
            elements,
            nbytes,
            shared,
            extra_kind,
        ) = row
        key = Key(component, part, dtype, role, active, tied_to is not None, extra_kind is not None)
        cell = cells.setdefault(key, CountCell())
        cell.tensors += count
        if shared is not None:  # counted with the tensor that it is a view of
            elements -= shared[0]
            nbytes -= shared[1]
        cell.elements += elements * count
        if parameters is None:
            cell.unknown = True
        else:
            cell.parameters += parameters * count
        if nbytes is None:
            cell.unsized = True
        else:
            cell.nbytes += nbytes * count
    return cells


def sums(cells: Mapping[Key, CountCell]) -> Sums:
    """The totals of a tally."""
    unknown = any(cell.unknown for cell in cells.values())
    uncounted = any(cell.unknown for key, cell in cells.items() if key.is_counted)
    unsized = any(cell.unsized for cell in cells.values())
    by_active: dict[tuple[int, int] | None, int] = {}
    for key, cell in cells.items():
        if key.is_counted:
            by_active[key.active] = by_active.get(key.active, 0) + cell.parameters
    return Sums(
        None if uncounted else sum(by_active.values()),
        None if unknown else sum(cell.parameters for cell in cells.values()),
        sum(cell.elements for cell in cells.values()),
        _elements(cells, Role.BUFFER),
        _elements(cells, Role.QUANTIZATION),
        None if unsized else sum(cell.nbytes for cell in cells.values()),
        None if uncounted else active_sum(by_active),
    )


def _elements(cells: Mapping[Key, CountCell], role: Role) -> int:
    return sum(cell.elements for key, cell in cells.items() if key.role is role)


def totals_by(cells: Mapping[Key, CountCell], group_of: Callable[[Key], str]) -> dict[str, Totals]:
    """Totals of a tally's groups, in order of first appearance. Parameters are unique ones."""
    groups: dict[str, list[tuple[Key, CountCell]]] = {}
    for key, cell in cells.items():
        groups.setdefault(group_of(key), []).append((key, cell))
    return {name: _totals(members) for name, members in groups.items()}


def _totals(members: Sequence[tuple[Key, CountCell]]) -> Totals:
    unique = [cell for key, cell in members if key.is_counted]
    cells = [cell for _, cell in members]
    return Totals(
        None if any(c.unknown for c in unique) else sum(c.parameters for c in unique),
        sum(c.tensors for c in cells),
        None if any(c.unsized for c in cells) else sum(c.nbytes for c in cells),
    )


def by_component(cells: Mapping[Key, CountCell]) -> dict[str, Totals]:
    """Totals by component, in the order of ``Component``; the five usual groups always there."""
    totals = totals_by(_of_class(cells), lambda key: key.component.value)
    usual = (
        Component.EMBEDDING,
        Component.ATTENTION,
        Component.MLP,
        Component.NORM,
        Component.HEAD,
    )
    return {
        c.value: totals.get(c.value, Totals(0, 0, 0))
        for c in Component
        if c.value in totals or c in usual
    }


def by_part(cells: Mapping[Key, CountCell]) -> dict[str, Totals]:
    return totals_by(_of_class(cells), lambda key: key.part)


def _of_class(cells: Mapping[Key, CountCell]) -> dict[Key, CountCell]:
    return {key: cell for key, cell in cells.items() if not key.is_extra}


def by_dtype(cells: Mapping[Key, CountCell]) -> dict[str, Totals]:
    """Of all that is stored; parameters are those of the class all the same."""
    return totals_by(cells, lambda key: key.dtype or "unknown")


def grouped(
    tensors: Iterable[TensorInfo], key: Callable[[TensorInfo], str | None]
) -> dict[str, Totals]:
    """Totals by ``key``, in order of first appearance; None is in no group. Parameters are unique
    ones of the class."""
    parameters: dict[str, int | None] = {}
    counts: dict[str, int] = {}
    nbytes: dict[str, int | None] = {}
    for tensor in tensors:
        group = key(tensor)
        if group is None:
            continue
        if group not in counts:
            counts[group] = 0
            parameters[group] = 0
            nbytes[group] = 0
        counts[group] += 1
        known = parameters[group]
        if tensor.tied_to is None and tensor.extra_kind is None and known is not None:
            parameters[group] = None if tensor.parameters is None else known + tensor.parameters
        size = nbytes[group]
        if size is not None:
            nbytes_here = tensor.own_nbytes
            nbytes[group] = None if nbytes_here is None else size + nbytes_here
    return {group: Totals(parameters[group], counts[group], nbytes[group]) for group in counts}


def component_shares(
    tensors: Sequence[TensorInfo], by: str
) -> dict[str, tuple[tuple[str, float], ...]]:
    """Group -> components and their share of all parameters, in the order of components."""
    by_group: dict[str, dict[str, int]] = {}
    all_parameters = 0
    for tensor in tensors:
        where = GROUPINGS[by](tensor)
        if where is not None and not (tensor.tied_to or tensor.extra_kind) and tensor.parameters:
            group = by_group.setdefault(where, {})
            name = str(tensor.component)
            group[name] = group.get(name, 0) + tensor.parameters
            all_parameters += tensor.parameters
    order = {str(component): i for i, component in enumerate(Component)}
    return {
        name: tuple((c, group[c] / all_parameters) for c in sorted(group, key=lambda c: order[c]))
        for name, group in by_group.items()
    }


def layer_name(tensor: TensorInfo) -> str:
    """``model.layers.7``, or ``(outside layers)``."""
    if tensor.layer is None:
        return "(outside layers)"
    return f"{tensor.stack}.{tensor.layer}" if tensor.stack else str(tensor.layer)


#: The groupings of ``--by``, by name: of the class, but for dtypes and files of all that is stored.
GROUPINGS: dict[str, Callable[[TensorInfo], str | None]] = {
    "component": lambda t: None if t.extra_kind else str(t.component),
    "layer": lambda t: None if t.extra_kind else layer_name(t),
    "dtype": lambda t: t.dtype or "unknown",
    "file": lambda t: t.file or "(config.json)",
    "part": lambda t: None if t.extra_kind else t.part,
}


def per_layer(tensors: Iterable[TensorInfo]) -> dict[str, tuple[int, int]]:
    """Component -> (least, most) unique parameters of one layer, over layers that have any."""
    by_layer: dict[tuple[str, str], int] = {}
    rows: Iterable[tuple[TensorInfo, str | None, int | None, int]]
    if isinstance(tensors, InLayers):
        rows = tensors.in_layers()
    else:
        rows = ((t, t.stack, t.layer, 1) for t in tensors)
    for tensor, stack, layer, count in rows:
        if layer is not None and _is_counted(tensor) and tensor.parameters:
            key = (str(tensor.component), f"{stack}.{layer}" if stack else str(layer))
            by_layer[key] = by_layer.get(key, 0) + tensor.parameters * count
    ranges: dict[str, tuple[int, int]] = {}
    for (component, _), parameters in by_layer.items():
        least, most = ranges.get(component, (parameters, parameters))
        ranges[component] = (min(least, parameters), max(most, parameters))
    return ranges


def _is_counted(tensor: TensorInfo) -> bool:
    """Whether it is a unique one of the class."""
    return tensor.tied_to is None and tensor.extra_kind is None
