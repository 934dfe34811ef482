"""What differs between models: totals, config keys, tensors folded by layer ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..core.components import Role
from ..core.display import Shown, counted
from ..core.json_form import JsonDocument, JsonForm
from ..core.records import dataclass
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..core.text import shape_text
from ..core.weight_changes import FileIdentity, WeightChanges
from ..core.wholeness import Problem, none_whole
from ..trees.prediction import Prediction
from .labels.lookup import spec_finder
from .mlx_layout import MLX_LAYOUT, alike, is_reordered

#: Keys that say who wrote the file, not what the model is.
_NOISE = frozenset({"_name_or_path", "transformers_version", "_diffusers_version", "auto_map"})

ChangeKind: TypeAlias = Literal["only_here", "only_there", "shape", "dtype", "packing"]
#: (kind, folded name, here, there, role)
_ChangeKey = tuple[ChangeKind, str, str | None, str | None, str]


@dataclass(frozen=True)
class Change(JsonForm, names={"count": "tensors"}, after={"role": "kind", "structural": "role"}):
    """One difference, folded over layers.

    Fields:
        kind: ``only_here``, ``only_there``, ``shape``, ``dtype``, or ``packing`` (as many
            parameters in another form)
        name: of the tensors, the layer's number as ``N``
        layers [indices, from 0]: layers concerned; empty outside of layers
        count [tensors]: number of tensors with this difference
        here: shape or dtype or both in the first model
        there: shape or dtype or both in the other
        role: ``parameter``, ``buffer`` or ``quantization`` (its bookkeeping)
    """

    kind: ChangeKind
    name: str
    layers: tuple[int, ...]
    count: int
    here: str | None = None
    there: str | None = None
    role: str = Role.PARAMETER.value

    @property
    def structural(self) -> bool:
        """Whether the models are different ones: other parameters, or others of their shapes.
        Buffers and the bookkeeping of a quantisation are how a model was saved."""
        return self.role == Role.PARAMETER.value and self.kind not in ("dtype", "packing")


class ConfigChange(NamedTuple):
    """A config key in two models; None where it is not.

    Fields:
        here: its value in the first
        there: its value in the other
    """

    here: Any
    there: Any


@dataclass(frozen=True, kw_only=True)
class Difference(JsonForm, after={"same_structure": "target"}):
    """The first model against one other. ``same_structure`` means: the same parameters in the same
    shapes, by the names that the catalog knows them by; dtypes and packing may differ.

    Fields:
        target: the other model, as it was named
        files: files with equal content; None if no hash is known
        weights: which weights differ; None if they were not read
        config: key, dotted where nested -> what it is in either
        changes: tensors that differ, folded by layers
    """

    target: str
    files: FileIdentity | None = None
    weights: WeightChanges | None = None
    config: Mapping[str, ConfigChange] = field(hash=False)
    changes: tuple[Change, ...]

    @property
    def same_structure(self) -> bool:
        """Whether both have the same parameters in the same shapes."""
        return not any(change.structural for change in self.changes)


@dataclass(frozen=True, repr=False)
class Comparison(
    JsonDocument,
    Shown,
    names={"inspections": "models"},
    after={"same_structure": "", "whole": "same_structure", "problems": "whole"},
):
    """Models side by side, and every other one against the first.

    Fields:
        inspections: the models, in the order given
        differences: each of the others against the first
    """

    inspections: tuple[Inspection, ...]
    differences: tuple[Difference, ...]

    @property
    def whole(self) -> bool | None:
        """Whether all are whole: False where one is not, None where that of one is unknown."""
        return none_whole(one.whole for one in self.inspections)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those of all models, each with the model that it is of."""
        return tuple(
            replace(problem, text=f"{one.target}: {problem.text}")
            for one in self.inspections
            for problem in one.problems
        )

    def _in_a_line(self) -> str:
        models = ", ".join(f"{one.target}: {counted(one.parameters)}" for one in self.inspections)
        return f"{'of one structure' if self.same_structure else 'different'}; {models}"

    @property
    def same_structure(self) -> bool:
        """Whether all have the same parameters in equal shapes; dtypes and packing may differ."""
        return all(difference.same_structure for difference in self.differences)


def compare(
    inspections: Sequence[Inspection], predictions: Sequence[Prediction | None]
) -> Comparison:
    """Every model against the first; ``predictions`` are those of their configs."""
    first, *others = inspections
    mine, *theirs = map(by_common_name, inspections, predictions)
    return Comparison(
        tuple(inspections),
        tuple(
            Difference(
                target=other.target,
                config=_config_changes(first, other),
                changes=_changes(*_without_layouts(first, other, mine, tensors)),
            )
            for other, tensors in zip(others, theirs, strict=True)
        ),
    )


def _changes(
    mine: Mapping[str, TensorInfo], theirs: Mapping[str, TensorInfo]
) -> tuple[Change, ...]:
    layers_of: dict[_ChangeKey, list[int | None]] = {}
    for name in [*mine, *(name for name in theirs if name not in mine)]:
        for kind, a, b in _compared(mine.get(name), theirs.get(name)):
            tensor = mine.get(name) or theirs[name]
            key = (kind, folded_name(tensor), a, b, tensor.role.value)
            layers_of.setdefault(key, []).append(tensor.layer)
    return tuple(
        Change(
            kind, name, tuple(sorted({n for n in layers if n is not None})), len(layers), a, b, role
        )
        for (kind, name, a, b, role), layers in layers_of.items()
    )


def _without_layouts(
    first: Inspection,
    other: Inspection,
    mine: Mapping[str, TensorInfo],
    theirs: Mapping[str, TensorInfo],
) -> tuple[Mapping[str, TensorInfo], Mapping[str, TensorInfo]]:
    """Without tensors that one model has in MLX's layout and the other one not."""
    is_mlx = any(one.rule == MLX_LAYOUT for model in (first, other) for one in model.findings)
    if not is_mlx:
        return mine, theirs
    here, there = alike(
        {name: one.parameters for name, one in mine.items() if name not in theirs},
        {name: one.parameters for name, one in theirs.items() if name not in mine},
    )
    in_both = mine.keys() & theirs.keys()
    reordered = {name for name in in_both if is_reordered(mine[name].shape, theirs[name].shape)}
    return (
        {name: one for name, one in mine.items() if name not in here | reordered},
        {name: one for name, one in theirs.items() if name not in there | reordered},
    )


def _compared(
    here: TensorInfo | None, there: TensorInfo | None
) -> Iterable[tuple[ChangeKind, str | None, str | None]]:
    if here is None or there is None:
        tensor = here or there
        assert tensor is not None
        shape = shape_text(tensor.shape)
        yield ("only_here", shape, None) if there is None else ("only_there", None, shape)
        return
    if _repacked(here, there):
        before, after = (f"{one.dtype} {shape_text(one.shape)}" for one in (here, there))
        yield "packing", before, after
        return
    if here.shape != there.shape:
        yield "shape", shape_text(here.shape), shape_text(there.shape)
    if here.dtype != there.dtype and None not in (here.dtype, there.dtype):
        yield "dtype", here.dtype, there.dtype


def _repacked(here: TensorInfo, there: TensorInfo) -> bool:
    """Whether both stand for as many parameters, and at least one holds them packed."""
    packed = here.parameters != here.elements or there.parameters != there.elements
    return (
        here.role is Role.PARAMETER
        and here.parameters is not None
        and here.parameters == there.parameters
        and packed
        and (here.shape, here.dtype) != (there.shape, there.dtype)
    )


def folded_name(tensor: TensorInfo) -> str:
    """The name with its layer number as ``N``; expert numbers after it fold as ``E``."""
    segments = tensor.name.split(".")
    if tensor.stack is None or tensor.layer is None:
        return tensor.name
    last = tensor.stack.rpartition(".")[2]
    for at in range(1, len(segments)):
        if segments[at] == str(tensor.layer) and segments[at - 1] == last:
            rest = ["E" if segment.isdecimal() else segment for segment in segments[at + 1 :]]
            return ".".join([*segments[:at], "N", *rest])
    return tensor.name


def _config_changes(here: Inspection, there: Inspection) -> dict[str, ConfigChange]:
    mine = _flat(here.config or {})
    theirs = _flat(there.config or {})
    keys = [*mine, *(key for key in theirs if key not in mine)]
    return {
        key: ConfigChange(mine.get(key), theirs.get(key))
        for key in keys
        if mine.get(key) != theirs.get(key)
    }


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if key in _NOISE:
            continue
        if isinstance(value, Mapping) and value and len(prefix) < 200:
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def ranges(numbers: Sequence[int]) -> str:
    """``0-3, 7`` for 0, 1, 2, 3, 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][-1:] = [number] if len(runs[-1]) > 1 else [runs[-1][-1], number]
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


# ---- the names under which tensors of two checkpoints are the same one. Files spell names
# differently: with the base model's prefix or without it (``transformer.h.0``, ``h.0``), in a
# family's older spelling, or with a packed weight under a name of its own (``q_proj.qweight``).
# Where the catalog knows the architecture, it says which; nothing is guessed.

#: Ends of packed weights' names, and of the names of the weights that they stand for
#: (GPTQ and AWQ, compressed-tensors, HQQ and AQLM, MXFP4).
_PACKED: Final = (
    (".qweight", ".weight"),
    (".weight_packed", ".weight"),
    (".W_q", ".weight"),
    (".codes", ".weight"),
    ("_blocks", ""),
)


def by_common_name(inspection: Inspection, prediction: Prediction | None) -> dict[str, TensorInfo]:
    """Tensors by common name. Which end of a tie a file keeps is the writer's choice and no
    difference of the models, so tied ones are left out."""
    family = prediction.family if prediction else None
    find = spec_finder(prediction if family else None)  # by transformers alone, there is no family
    prefix = f"{family.base_prefix}." if family and family.base_prefix else ""
    by_name: dict[str, TensorInfo] = {}
    for tensor in inspection.tensors:
        if tensor.tied_to is not None:
            continue
        name = tensor.name
        for candidate in _candidates(tensor):
            spec = find(candidate)
            name = candidate if spec is None else spec.name.removeprefix(prefix)
            if spec is not None:
                break
        by_name[tensor.name if name in by_name else name] = tensor
    return by_name


def _candidates(tensor: TensorInfo) -> Iterator[str]:
    """The tensor's name, and before it that of the weight which it is packed from."""
    if tensor.role is Role.PARAMETER and tensor.parameters != tensor.elements:
        for end, plain in _PACKED:
            if tensor.name.endswith(end):
                yield tensor.name.removesuffix(end) + plain
                return
    yield tensor.name
