"""Tensors of equal layers and experts as one row: ``model.layers.[0-31].mlp.up_proj.weight``."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..analysis.kinds import NUMBER, grids
from ..core.tensor import TensorInfo
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


def folded_names(names: Iterable[str]) -> list[str]:
    """Names that differ in numbers alone as one: ``model.layers.[0-31].mlp.up_proj.weight``."""
    alike: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    for name in names:
        numbers = tuple(int(number) for number in NUMBER.findall(name))
        alike.setdefault(NUMBER.sub("#", name), []).append((numbers, name))
    return [
        _named(members[0], values) for group in alike.values() for values, members in grids(group)
    ]


def _named(name: str, values: Sequence[Sequence[int]]) -> str:
    """The name with a range for each number that varies."""
    ranges = iter(values)
    return NUMBER.sub(lambda _: numbered(tuple(next(ranges)), False), name)
