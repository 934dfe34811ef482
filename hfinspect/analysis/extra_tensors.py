"""Stored parameters that the class does not hold: what transformers does not load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from ..core.components import Role
from ..core.expectation import Beyond
from ..core.lazy_sequence import counted
from ..core.tensor import BeyondKind, TensorInfo, TensorSpec
from ..trees.prediction import Prediction, is_saved
from .labels.place import Labelled
from .tensor_table import TensorTable

if TYPE_CHECKING:
    from .quantization.decoding import Decoded

_SAVED = itemgetter(TensorSpec._fields.index("saved"))


def with_extra_tensors(
    labelled: Labelled,
    prediction: Prediction | None,
    decoded: Mapping[str, Decoded],
    table: TensorTable,
) -> Labelled:
    """The labelled tensors of ``table``, with ``beyond`` set where the class of ``prediction`` does
    not hold them.

    Layers of multi-token prediction that the tree knows as such are beyond a class that does not
    load them. Any other tensor is only where the class lacks nothing: where one of its own is not
    in the files, a tensor that it does not know may be that one under another name.
    """
    if prediction is None or _is_all_loaded(labelled.known_specs):
        return labelled
    holds_all = _holds_all(labelled, prediction, table)
    kinds: dict[int, BeyondKind] = {}
    aside: dict[str, BeyondKind] = {}  # by the name of the unpacked weight, for its bookkeeping
    for at, (info, spec) in enumerate(zip(labelled.tensors, labelled.known_specs, strict=True)):
        kind = _kind(info, spec, holds_all)
        if kind is None:
            continue
        kinds[at] = kind
        meaning = decoded.get(info.name)
        if meaning is not None:
            aside[meaning.name] = kind
    if not kinds:
        return labelled
    if aside:
        for at, info in enumerate(labelled.tensors):
            meaning = decoded.get(info.name)
            if meaning is not None and meaning.name in aside:
                kinds[at] = aside[meaning.name]
    tensors = list(labelled.tensors)
    for at, kind in kinds.items():
        tensors[at] = tensors[at]._replace(extra_kind=kind)
    return labelled._replace(tensors=tuple(tensors))


def _is_all_loaded(known_specs: Sequence[TensorSpec | None]) -> bool:
    """Whether the tree knows every tensor, and the class loads it."""
    known = [spec for spec in known_specs if spec]
    return len(known) == len(known_specs) and all(map(_SAVED, known))


def _holds_all(labelled: Labelled, prediction: Prediction, table: TensorTable) -> bool:
    by_spec = {
        spec.name: table.total(info.name)
        for info, spec in zip(labelled.tensors, labelled.known_specs, strict=True)
        if spec is not None and spec.role is Role.PARAMETER and is_saved(spec)
    }
    counts = (count for s, count in prediction.tensors.counted() if s.role is Role.PARAMETER)
    return sum(by_spec.values()) == sum(counts)


def _kind(info: TensorInfo, spec: TensorSpec | None, holds_all: bool) -> BeyondKind | None:
    if spec is not None and not spec.saved and is_further_token(spec):
        return "mtp"
    if not holds_all or info.role is not Role.PARAMETER or info.tied_to is not None:
        return None
    if spec is None:
        return "unexpected"
    return None if spec.saved else "unloaded"


def is_further_token(spec: TensorSpec) -> bool:
    """Whether a tensor belongs to layers that predict tokens after the next one."""
    return spec.part == "mtp" or spec.kind == "mtp"


def extra_tensors_of(
    tensors: Iterable[TensorInfo], first_name: Callable[[str], str] = str
) -> tuple[Beyond, ...]:
    """Sums of the tensors beyond the class, one for each kind. ``first_name`` is the name of the
    first tensor of those that one stands for, by that one's."""
    groups: dict[BeyondKind, list[tuple[TensorInfo, int]]] = {}
    for info, count in counted(tensors):
        if info.extra_kind is not None:
            groups.setdefault(info.extra_kind, []).append((info, count))
    return tuple(_summed(kind, members, first_name) for kind, members in groups.items())


def _summed(
    kind: BeyondKind, members: Sequence[tuple[TensorInfo, int]], first_name: Callable[[str], str]
) -> Beyond:
    parameters = [(info.parameters, count) for info, count in members if info.tied_to is None]
    sizes = [(info.own_nbytes, count) for info, count in members]
    known = [number * count for number, count in parameters if number is not None]
    sized = [size * count for size, count in sizes if size is not None]
    return Beyond(
        kind,
        sum(known) if len(known) == len(parameters) else None,
        sum(count for _, count in members),
        sum(sized) if len(sized) == len(sizes) else None,
        first_name(members[0][0].name),
    )


def extra_tensors_of_config(prediction: Prediction) -> tuple[Beyond, ...]:
    """Layers of multi-token prediction that a config describes and its class does not load.

    Whether files hold them, and in which dtype, no config says: bytes are unknown.
    """
    further = [spec for spec in prediction.extras if is_further_token(spec) and spec.parameters]
    if not further:
        return ()
    total = sum(spec.parameters for spec in further if spec.tied_to is None)
    return (Beyond("mtp", total, len(further), None, further[0].name),)
