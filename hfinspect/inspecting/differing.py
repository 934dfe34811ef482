"""What was predicted next to what is held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..analysis.folded_tensors import NotAlikeError, spec_names
from ..analysis.folding import Fold
from ..analysis.labels.place import Labelled
from ..core.checkpoint import Finding
from ..core.components import Role
from ..core.expectation import Expectation
from ..core.stored_tensors import fold_names
from ..core.tensor import TensorInfo, TensorSpec
from ..trees.prediction import Prediction, is_held

if TYPE_CHECKING:
    from ..analysis.quantization.decoding import Decoded


class Expected(NamedTuple):
    """Whether the catalog made it, what it expects, what differs as findings, and the prediction
    that it is of."""

    catalogued: bool = False
    expectation: Expectation | None = None
    findings: tuple[Finding, ...] = ()
    prediction: Prediction | None = None


_Pair: TypeAlias = tuple[TensorInfo, TensorSpec]
_ROLE = TensorInfo._fields.index("role")
#: A member of an Enum costs a call to look up.
_BOOKKEEPING = Role.QUANTIZATION


def compared(
    placed: Labelled,
    prediction: Prediction,
    decoded: Mapping[str, Decoded],
    folded: Fold | None = None,
) -> Expectation:
    """Where the tensors that are held differ from those predicted.

    With ``folded`` one tensor is compared for all that are alike with it; names are made only of
    those that differ. Raises NotAlikeError where the tree may call two of them the same.
    """
    weighed = [  # with fields by number: by name each takes as long as all the rest
        (info, spec)
        for info, spec in zip(placed.tensors, placed.told, strict=True)
        if info[_ROLE] is not _BOOKKEEPING
    ]
    known = [(info, spec) for info, spec in weighed if spec is not None]
    if len({spec[0] for _, spec in known}) < len(known):
        if folded is not None:
            raise NotAlikeError
        known = _first_of_each(known)
    reshaped = {
        info.name: (info.shape, spec.shape)
        for info, spec in known
        if info[1] != spec[1] and not _as_promised(spec, decoded.get(info[0]))
    }
    unexpected = [info[0] for info, spec in weighed if spec is None]
    unsaved = [
        info.name
        for info, spec in known
        if (spec.tied_to is not None or not spec.saved)
        and info.parameters
        and info.tied_to is None
        and info.beyond is None
    ]
    if folded is not None:
        reshaped = {name: reshaped[one] for name, one in folded.names(reshaped)}
        unexpected = [name for name, _ in folded.names(unexpected)]
        unsaved = [name for name, _ in folded.names(unsaved)]
    missing = _missing(known, prediction, folded)
    return Expectation(prediction.parameters, missing, tuple(unexpected), reshaped, tuple(unsaved))


def _first_of_each(known: Iterable[_Pair]) -> list[_Pair]:
    """Of two spellings of one name the first counts."""
    first: dict[str, _Pair] = {}
    for pair in known:
        first.setdefault(pair[1].name, pair)
    return list(first.values())


def _missing(
    known: Sequence[_Pair], prediction: Prediction, folded: Fold | None
) -> tuple[str, ...]:
    """Names of predicted tensors that are not held."""
    times: Mapping[str, int] = {} if folded is None else folded.times
    if times:
        _check_spellings(known)
    count = sum(times.get(info.name, 1) for info, spec in known if is_held(spec))
    if count == len(prediction.tensors):  # each once, and no others
        return ()
    held: set[str] = set()
    if folded is None:
        held.update(spec.name for _, spec in known)
    else:
        alike = {one.name: one for one in folded.alike}
        for info, spec in known:
            held.update(spec_names(alike[info.name], spec))
    return tuple(name for name in prediction.tensors.names() if name not in held)


def _check_spellings(known: Sequence[_Pair]) -> None:
    """Names of one spelling differ in the tree if they do in the files. Raises NotAlikeError where
    the files have two spellings for one of the tree's."""
    spelled, _ = fold_names([info.name for info, _ in known])
    named, _ = fold_names([spec.name for _, spec in known])
    if len(set(zip(spelled, named, strict=True))) > len(set(named)):
        raise NotAlikeError


def _as_promised(spec: TensorSpec, meaning: Decoded | None) -> bool:
    """Whether a tensor of another shape than the tree's is all the same as it should be."""
    if meaning is not None:
        # Packing rearranges; what has to agree is how many parameters come out of it.
        return meaning.parameters is None or meaning.parameters == spec.parameters
    # Buffers' shapes changed between library versions (masks, position ids) and carry no weights.
    return spec.role is Role.BUFFER
