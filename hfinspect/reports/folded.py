"""Tensors of equal layers and experts as one row: ``model.layers.[0-31].mlp.up_proj.weight``."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from ..core.tensor import TensorInfo
from ..core.verdicts import AuditFinding
from ..explaining.count_tree import numbered

Found = TypeVar("Found")

#: A number between dots: of a layer, an expert, a stage.
_NUMBER = re.compile(r"(?<![^./])[0-9]{1,9}(?![^./])")


class FoldedRows(NamedTuple):
    """Tensors that differ in numbers of their names alone; ``first`` stands for them. ``layer`` is
    the least, for sorting."""

    name: str
    first: TensorInfo
    tensors: tuple[TensorInfo, ...]

    @property
    def parameters(self) -> int | None:
        """Of all of them; None where one is unknown."""
        counts = [tensor.parameters for tensor in self.tensors]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def nbytes(self) -> int | None:
        """Of all of them; None where one is unknown."""
        sizes = [tensor.nbytes for tensor in self.tensors]
        return None if None in sizes else sum(size for size in sizes if size is not None)


def single(tensors: Iterable[TensorInfo]) -> list[FoldedRows]:
    """Every tensor by itself."""
    return [FoldedRows(tensor.name, tensor, (tensor,)) for tensor in tensors]


def folded(tensors: Iterable[TensorInfo]) -> list[FoldedRows]:
    """Rows in order of first appearance. Only tensors that agree in all but numbers, file and
    place of a tie are one row, and only where every combination of the numbers is there."""
    alike: dict[object, list[tuple[tuple[int, ...], TensorInfo]]] = {}
    for tensor in tensors:
        numbers = tuple(int(number) for number in _NUMBER.findall(tensor.name))
        masked = _NUMBER.sub("#", tensor.name)
        key = (
            masked,
            tensor.shape,
            tensor.dtype,
            tensor.component,
            tensor.role,
            tensor.part,
            tensor.tied_to is None,
            tensor.view_of is None,
            tensor.beyond,
        )
        alike.setdefault(key, []).append((numbers, tensor))
    return [
        FoldedRows(_named(tensors[0].name, values), tensors[0], tuple(tensors))
        for group in alike.values()
        for values, tensors in _grids(group, 0)
    ]


def folded_findings(findings: Iterable[AuditFinding]) -> list[tuple[AuditFinding, int]]:
    """Findings of an audit that differ in numbers of a tensor's name alone as one, with how many
    they are: ``model.layers.[0-31].mlp.up_proj.weight``."""
    alike: dict[object, list[tuple[tuple[int, ...], AuditFinding]]] = {}
    for finding in findings:
        name = finding.tensor or ""
        key = replace(finding, tensor=_NUMBER.sub("#", name))
        numbers = tuple(int(number) for number in _NUMBER.findall(name))
        alike.setdefault(key, []).append((numbers, finding))
    return [
        (replace(grid[0], tensor=_named(grid[0].tensor or "", values) or None), len(grid))
        for group in alike.values()
        for values, grid in _grids(group, 0)
    ]


def _grids(
    group: Sequence[tuple[tuple[int, ...], Found]], place: int
) -> list[tuple[list[list[int]], list[Found]]]:
    """One for a group that is a full grid of numbers, else one for each value at ``place``: the
    values of each number, and what they belong to."""
    values = [sorted(set(column)) for column in zip(*(n for n, _ in group), strict=True)]
    cells = 1
    for column in values:
        cells *= len(column)
    if cells == len(group) or place >= len(values):
        return [(values, [finding for _, finding in group])]
    split: dict[int, list[tuple[tuple[int, ...], Found]]] = {}
    for item in group:
        split.setdefault(item[0][place], []).append(item)
    return [grid for part in split.values() for grid in _grids(part, place + 1)]


def _named(name: str, values: Sequence[Sequence[int]]) -> str:
    """The name with a range for each number that varies."""
    ranges = iter(values)
    return _NUMBER.sub(lambda _: numbered(tuple(next(ranges)), False), name)
