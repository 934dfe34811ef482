"""What was predicted next to what is held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..analysis.labels.place import Labelled
from ..analysis.mlx_layout import alike, is_reordered
from ..analysis.tensor_table import TensorTable
from ..core.checkpoint import Finding
from ..core.components import Role
from ..core.expectation import Expectation, Reshaped
from ..core.tensor import TensorInfo, TensorSpec
from ..trees.prediction import Prediction, is_saved

if TYPE_CHECKING:
    from ..analysis.quantization.decoding import Decoded


class Expected(NamedTuple):
    """Whether the catalog made it, what it expects, what differs as findings, and the prediction
    that it is of."""

    catalogued: bool = False
    expectation: Expectation | None = None
    findings: tuple[Finding, ...] = ()
    prediction: Prediction | None = None


_Known: TypeAlias = tuple[TensorInfo, TensorSpec]
_ROLE = TensorInfo._fields.index("role")
#: A member of an Enum costs a call to look up.
_BOOKKEEPING = Role.QUANTIZATION


def compared(
    labelled: Labelled, prediction: Prediction, decoded: Mapping[str, Decoded], table: TensorTable
) -> Expectation:
    """Where the tensors of a table differ from those predicted.

    Raises NotAlikeError where the tree may call two of a group the same.
    """
    weighed = [  # with fields by number: by name each takes as long as all the rest
        (info, spec)
        for info, spec in zip(labelled.tensors, labelled.known_specs, strict=True)
        if info[_ROLE] is not _BOOKKEEPING
    ]
    known = [(info, spec) for info, spec in weighed if spec is not None]
    if len({spec[0] for _, spec in known}) < len(known):
        table.look_at_each()
        known = _first_of_each(known)
    reshaped = {
        info.name: Reshaped(info.shape, spec.shape)
        for info, spec in known
        if info[1] != spec[1] and not _as_predicted(spec, decoded.get(info[0]))
    }
    unexpected = [info[0] for info, spec in weighed if spec is None]
    unsaved = [
        info.name
        for info, spec in known
        if (spec.tied_to is not None or not spec.saved)
        and info.parameters
        and info.tied_to is None
        and info.extra_kind is None
    ]
    return Expectation(
        parameters=prediction.parameters,
        missing=_missing(known, prediction, table),
        unexpected=tuple(name for name, _ in table.names(unexpected)),
        unsaved=tuple(name for name, _ in table.names(unsaved)),
        reshaped={name: reshaped[looked_at] for name, looked_at in table.names(reshaped)},
    )


def _first_of_each(known: Iterable[_Known]) -> list[_Known]:
    """Of two spellings of one name the first counts."""
    first: dict[str, _Known] = {}
    for pair in known:
        first.setdefault(pair[1].name, pair)
    return list(first.values())


def _missing(
    known: Sequence[_Known], prediction: Prediction, table: TensorTable
) -> tuple[str, ...]:
    """Names of predicted tensors that are not held."""
    in_tree = table.renamed([(info.name, spec.name) for info, spec in known])
    count = sum(table.total(info.name) for info, spec in known if is_saved(spec))
    if count == len(prediction.tensors):  # each once, and no others
        return ()
    in_files = set(in_tree)
    return tuple(name for name in prediction.tensors.names() if name not in in_files)


def _as_predicted(spec: TensorSpec, meaning: Decoded | None) -> bool:
    """Whether a tensor of another shape than the tree's is all the same as it should be."""
    if meaning is not None:
        # Packing rearranges; what has to agree is how many parameters come out of it.
        return meaning.parameters is None or meaning.parameters == spec.parameters
    # Buffers' shapes changed between library versions (masks, position ids) and carry no weights.
    return spec.role is Role.BUFFER


def as_in_mlx(
    expectation: Expectation, tensors: Sequence[TensorInfo], prediction: Prediction
) -> Expectation:
    """The same without what only MLX's layout makes differ: experts in one tensor, other names, and
    convolutions whose axes have another order. The expectation itself where there is none."""
    infos = {info.name: info for info in tensors}
    unexpected = {name: infos[name].parameters for name in expectation.unexpected}
    sizes = {spec.name: spec.elements for spec in prediction.tensors}
    missing = {name: sizes[name] for name in expectation.missing}
    here, there = alike(unexpected, missing)
    reshaped = {
        name: shapes for name, shapes in expectation.reshaped.items() if not is_reordered(*shapes)
    }
    if not here and len(reshaped) == len(expectation.reshaped):
        return expectation
    return replace(
        expectation,
        missing=tuple(name for name in expectation.missing if name not in there),
        unexpected=tuple(name for name in expectation.unexpected if name not in here),
        reshaped=reshaped,
    )
