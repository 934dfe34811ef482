"""A GGUF file next to what a config predicts, tensor by tensor.

Converters permute, transpose, merge experts and split or fuse projections, so what is compared is
the number of elements: of single tensors where both sides have the same ones, of groups where one
side has in one tensor what the other has in several.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import NamedTuple

from ...core.components import Role
from ...core.expectation import Expectation, Reshaped
from ...core.records import dataclass
from ...core.tensor import TensorInfo, TensorSpec
from ...trees.prediction import Prediction
from .llama_cpp_names import PIECES, gguf_name, is_left_out, merged_expert


class GgufComparison(NamedTuple):
    """``expectation`` names missing tensors as the config's tree does, others as the file does.

    ``unnamed`` are predicted tensors without a known name in GGUF; where there are any, ``rest`` is
    (elements of the file's tensors that nothing else accounts for, elements of the unnamed).
    ``elsewhere`` are the parts of the model that are in another file, ``stored_ties`` are stored
    although the config ties them.
    """

    expectation: Expectation
    unnamed: tuple[str, ...] = ()
    rest: tuple[int, int] = (0, 0)
    elsewhere: tuple[str, ...] = ()
    stored_ties: tuple[str, ...] = ()


@dataclass()
class _NamedGroup:
    """What one name stands for: tensors of the file, or of the tree."""

    names: list[str] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, names: Iterable[str], shapes: Iterable[tuple[int, ...]]) -> None:
        self.names += names
        self.shapes += shapes

    @property
    def elements(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the only tensor, of equal ones stacked, or else the number of elements."""
        first = self.shapes[0]
        if len(self.shapes) == 1:
            return first
        alike = all(shape == first for shape in self.shapes)
        return (len(self.shapes), *first) if alike else (self.elements,)


_ByName = dict[str, _NamedGroup]

#: The part of a model that a GGUF file of type "model" holds; others have files of their own.
_PART = "text"


def compare_names(
    tensors: Sequence[TensorInfo], prediction: Prediction, architecture: str
) -> GgufComparison:
    """The file's tensors next to the catalog's. Pure.

    ``architecture`` is the file's own (``general.architecture``).
    """
    in_file = _groups_in_file(tensors)
    elsewhere = {spec.part for spec in prediction.tensors} - {_PART}
    predicted, unnamed = _predicted(prediction.tensors, architecture)
    _join_pieces(in_file, predicted)
    missing: list[str] = []
    reshaped: dict[str, Reshaped] = {}
    for name, group in predicted.items():
        tensors_here = in_file.pop(name, None)
        if tensors_here is None:
            missing += group.names
        elif not _alike(tensors_here, group):
            reshaped[tensors_here.names[0]] = Reshaped(tensors_here.shape, group.shape)
    for name in _names(prediction.extras, architecture):
        in_file.pop(name, None)
    ties = _names((spec for spec in prediction.specs if spec.tied_to), architecture)
    stored_ties = [name for name in list(in_file) if name in ties and in_file.pop(name)]
    rest = (sum(group.elements for group in in_file.values()), sum(map(_parameters, unnamed)))
    unexpected = () if unnamed else tuple(n for group in in_file.values() for n in group.names)
    parameters = sum(group.elements for group in predicted.values()) + rest[1]
    return GgufComparison(
        Expectation(
            parameters=parameters, missing=tuple(missing), unexpected=unexpected, reshaped=reshaped
        ),
        tuple(spec.name for spec in unnamed),
        rest if unnamed else (0, 0),
        tuple(sorted(elsewhere)),
        tuple(stored_ties),
    )


def _groups_in_file(tensors: Iterable[TensorInfo]) -> _ByName:
    """Parameters of the file by name; experts that are stored one by one under one name."""
    groups: _ByName = {}
    for info in tensors:
        if info.role is Role.PARAMETER and info.part == _PART:
            groups.setdefault(merged_expert(info.name), _NamedGroup()).add(
                [info.name], [info.shape]
            )
    return groups


def _predicted(specs: Iterable[TensorSpec], architecture: str) -> tuple[_ByName, list[TensorSpec]]:
    groups: _ByName = {}
    unnamed: list[TensorSpec] = []
    for spec in specs:
        if spec.role is not Role.PARAMETER or spec.part != _PART or is_left_out(spec, architecture):
            continue
        name = gguf_name(spec, architecture)
        if name is None:
            unnamed.append(spec)
        else:
            groups.setdefault(name, _NamedGroup()).add([spec.name], [spec.shape])
    return groups, unnamed


def _names(specs: Iterable[TensorSpec], architecture: str) -> set[str]:
    return {name for spec in specs if (name := gguf_name(spec, architecture)) is not None}


def _parameters(spec: TensorSpec) -> int:
    return spec.parameters


def _join_pieces(in_file: _ByName, predicted: _ByName) -> None:
    """Where one side has whole what the other has in pieces, put the pieces under the whole's
    name."""
    for mine, other in ((in_file, predicted), (predicted, in_file)):
        for joined_name in [name for name in other if name not in mine]:
            block, _, rest = joined_name.rpartition(".")
            path, dot, stem = block.rpartition(".")
            names = [f"{path}{dot}{piece}.{rest}" for piece in PIECES.get(stem, ())]
            pieces_here = [mine.pop(name) for name in names if name in mine]
            if pieces_here:
                joined = mine.setdefault(joined_name, _NamedGroup())
                for piece in pieces_here:
                    joined.add(piece.names, piece.shapes)


def _alike(stored: _NamedGroup, predicted: _NamedGroup) -> bool:
    """Whether the elements agree; of single tensors also the sizes, in any order."""
    if stored.elements != predicted.elements:
        return False
    if len(stored.shapes) > 1 or len(predicted.shapes) > 1:
        return True
    return _sizes(stored.shapes[0]) == _sizes(predicted.shapes[0])


def _sizes(shape: tuple[int, ...]) -> list[int]:
    return sorted(size for size in shape if size != 1)
