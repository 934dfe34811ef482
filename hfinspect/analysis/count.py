"""Sums over labelled tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..core.components import Component, Role
from ..core.results import Totals
from ..core.tensors import TensorInfo


class Sums(NamedTuple):
    """All the totals of an inspection; see ``core.results.Inspection`` for their meaning."""

    parameters: int | None
    logical: int | None
    stored: int
    buffers: int
    bookkeeping: int
    nbytes: int | None
    active: int | None


def sums(tensors: Sequence[TensorInfo]) -> Sums:
    """One pass over the tensors."""
    unique = logical = stored = buffers = bookkeeping = nbytes = 0
    unknown = unsized = False
    shared: dict[tuple[int, int], int] = {}
    for tensor in tensors:
        stored += tensor.elements
        if tensor.nbytes is None:
            unsized = True
        else:
            nbytes += tensor.nbytes
        if tensor.role is Role.BUFFER:
            buffers += tensor.elements
        elif tensor.role is Role.QUANTIZATION:
            bookkeeping += tensor.elements
        if tensor.parameters is None:
            unknown = True
            continue
        logical += tensor.parameters
        if tensor.tied_to is None:
            unique += tensor.parameters
            if tensor.active is not None:
                shared[tensor.active] = shared.get(tensor.active, 0) + tensor.parameters
    # Routed experts: k of n serve a token. Sums over n experts of a shape divide evenly.
    idle = sum(total - total * k // n for (k, n), total in shared.items())
    return Sums(
        None if unknown else unique,
        None if unknown else logical,
        stored,
        buffers,
        bookkeeping,
        None if unsized else nbytes,
        None if unknown else unique - idle,
    )


def grouped(tensors: Iterable[TensorInfo], key: Callable[[TensorInfo], str]) -> dict[str, Totals]:
    """Totals by ``key``, in order of first appearance. Parameters are unique ones."""
    parameters: dict[str, int | None] = {}
    counts: dict[str, int] = {}
    nbytes: dict[str, int | None] = {}
    for tensor in tensors:
        group = key(tensor)
        if group not in counts:
            counts[group], parameters[group], nbytes[group] = 0, 0, 0
        counts[group] += 1
        known = parameters[group]
        if tensor.tied_to is None and known is not None:
            parameters[group] = None if tensor.parameters is None else known + tensor.parameters
        size = nbytes[group]
        if size is not None:
            nbytes[group] = None if tensor.nbytes is None else size + tensor.nbytes
    return {group: Totals(parameters[group], counts[group], nbytes[group]) for group in counts}


def by_component(tensors: Iterable[TensorInfo]) -> dict[str, Totals]:
    """Totals by component, in the order of ``Component``; the five usual groups always there."""
    found = grouped(tensors, lambda t: str(t.component))
    usual = (
        Component.EMBEDDING,
        Component.ATTENTION,
        Component.MLP,
        Component.NORM,
        Component.HEAD,
    )
    return {
        str(c): found.get(str(c), Totals(0, 0, 0))
        for c in Component
        if str(c) in found or c in usual
    }


def layer_name(tensor: TensorInfo) -> str:
    """``model.layers.7``, or ``(outside layers)``."""
    if tensor.layer is None:
        return "(outside layers)"
    return f"{tensor.stack}.{tensor.layer}" if tensor.stack else str(tensor.layer)


#: The groupings of ``--by``, by name.
GROUPINGS: dict[str, Callable[[TensorInfo], str]] = {
    "component": lambda t: str(t.component),
    "layer": layer_name,
    "dtype": lambda t: t.dtype or "unknown",
    "file": lambda t: t.file or "(config.json)",
    "part": lambda t: t.part,
}


def per_layer(tensors: Iterable[TensorInfo]) -> dict[str, tuple[int, int]]:
    """Component -> (least, most) unique parameters of one layer, over layers that have any."""
    found: dict[tuple[str, str], int] = {}
    for tensor in tensors:
        if tensor.layer is None or tensor.tied_to is not None or not tensor.parameters:
            continue
        key = (str(tensor.component), layer_name(tensor))
        found[key] = found.get(key, 0) + tensor.parameters
    ranges: dict[str, tuple[int, int]] = {}
    for (component, _), parameters in found.items():
        least, most = ranges.get(component, (parameters, parameters))
        ranges[component] = (min(least, parameters), max(most, parameters))
    return ranges
