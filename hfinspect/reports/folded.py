"""Tensors of equal layers and experts as one row: ``model.layers.[0-31].mlp.up_proj.weight``."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..analysis.kinds import NUMBER, grids
from ..core.tensor import TensorInfo
from ..core.verdicts import AuditFinding
from ..explaining.count_tree import numbered


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
        numbers = tuple(int(number) for number in NUMBER.findall(tensor.name))
        masked = NUMBER.sub("#", tensor.name)
        key = (
            masked,
            tensor.shape,
            tensor.dtype,
            tensor.component,
            tensor.role,
            tensor.part,
            tensor.tied_to is None,
            tensor.view_of is None,
            tensor.extra_kind,
        )
        alike.setdefault(key, []).append((numbers, tensor))
    return [
        FoldedRows(_named(tensors[0].name, values), tensors[0], tuple(tensors))
        for group in alike.values()
        for values, tensors in grids(group)
    ]


def folded_findings(findings: Iterable[AuditFinding]) -> list[tuple[AuditFinding, int]]:
    """Findings of an audit that differ in numbers of a tensor's name alone as one, with how many
    they are: ``model.layers.[0-31].mlp.up_proj.weight``."""
    alike: dict[object, list[tuple[tuple[int, ...], AuditFinding]]] = {}
    for finding in findings:
        name = finding.tensor or ""
        key = replace(finding, tensor=NUMBER.sub("#", name))
        numbers = tuple(int(number) for number in NUMBER.findall(name))
        alike.setdefault(key, []).append((numbers, finding))
    return [
        (replace(grid[0], tensor=_named(grid[0].tensor or "", values) or None), len(grid))
        for group in alike.values()
        for values, grid in grids(group)
    ]


def _named(name: str, values: Sequence[Sequence[int]]) -> str:
    """The name with a range for each number that varies."""
    ranges = iter(values)
    return NUMBER.sub(lambda _: numbered(tuple(next(ranges)), False), name)
