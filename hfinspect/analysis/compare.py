"""What differs between models: totals, config keys, tensors folded by layer ranges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.results import Inspection
from ..core.tensors import TensorInfo

#: Keys that say who wrote the file, not what the model is.
_NOISE = frozenset({"_name_or_path", "transformers_version", "_diffusers_version", "auto_map"})
_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


@dataclass(frozen=True)
class Change:
    """One difference, folded over layers: ``names`` has the layer number replaced by ``N``.

    ``kind`` is ``only_here`` (in the first model), ``only_there`` (in the other), ``shape`` or
    ``dtype``. ``layers`` are the layers concerned, empty for tensors outside layers. ``here`` and
    ``there`` are shapes or dtypes.
    """

    kind: str
    name: str
    layers: tuple[int, ...]
    count: int
    here: str | None = None
    there: str | None = None


@dataclass(frozen=True)
class Difference:
    """The first model against one other. ``same_structure`` means: names and shapes are equal."""

    target: str
    changes: tuple[Change, ...]
    config: Mapping[str, tuple[Any, Any]]

    @property
    def same_structure(self) -> bool:
        return all(change.kind == "dtype" for change in self.changes)


@dataclass(frozen=True)
class Comparison:
    """Models side by side, and every other one against the first."""

    inspections: tuple[Inspection, ...]
    differences: tuple[Difference, ...]

    @property
    def same_structure(self) -> bool:
        return all(difference.same_structure for difference in self.differences)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema_version": "1.0",
            "same_structure": self.same_structure,
            "models": [inspection.to_dict() for inspection in self.inspections],
            "differences": [_difference_to_dict(d) for d in self.differences],
        }


def compare(inspections: Sequence[Inspection]) -> Comparison:
    """Every model against the first."""
    first, *others = inspections
    return Comparison(
        tuple(inspections),
        tuple(
            Difference(other.target, _changes(first, other), _config_changes(first, other))
            for other in others
        ),
    )


def _changes(here: Inspection, there: Inspection) -> tuple[Change, ...]:
    # Which end of a tie a file keeps is the writer's choice and no difference of the models.
    mine, theirs = _by_name(here), _by_name(there)
    found: dict[tuple[str, str, str | None, str | None], list[int | None]] = {}
    for name in [*mine, *(name for name in theirs if name not in mine)]:
        for kind, a, b in _compared(mine.get(name), theirs.get(name)):
            tensor = mine.get(name) or theirs[name]
            key = (kind, _folded(name, tensor), a, b)
            found.setdefault(key, []).append(tensor.layer)
    return tuple(
        Change(kind, name, tuple(sorted({n for n in layers if n is not None})), len(layers), a, b)
        for (kind, name, a, b), layers in found.items()
    )


def _by_name(inspection: Inspection) -> dict[str, TensorInfo]:
    return {t.name: t for t in inspection.tensors if t.tied_to is None}


def _compared(
    here: TensorInfo | None, there: TensorInfo | None
) -> Iterable[tuple[str, str | None, str | None]]:
    if here is None or there is None:
        tensor = here or there
        assert tensor is not None
        shape = _shape(tensor)
        yield ("only_here", shape, None) if there is None else ("only_there", None, shape)
        return
    if here.shape != there.shape:
        yield "shape", _shape(here), _shape(there)
    if here.dtype != there.dtype and None not in (here.dtype, there.dtype):
        yield "dtype", here.dtype, there.dtype


def _shape(tensor: TensorInfo) -> str:
    return "x".join(str(int(size)) for size in tensor.shape) or "scalar"


def _folded(name: str, tensor: TensorInfo) -> str:
    """The name with its layer number as ``N``; expert numbers fold as ``E``."""
    if tensor.stack is not None and tensor.layer is not None:
        head = f"{tensor.stack}.{tensor.layer}."
        if name.startswith(head):
            return f"{tensor.stack}.N." + _NUMBER.sub("E", name[len(head) :])
    return name


def _config_changes(here: Inspection, there: Inspection) -> dict[str, tuple[Any, Any]]:
    mine, theirs = _flat(here.config or {}), _flat(there.config or {})
    keys = [*mine, *(key for key in theirs if key not in mine)]
    return {
        key: (mine.get(key), theirs.get(key)) for key in keys if mine.get(key) != theirs.get(key)
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


def _difference_to_dict(difference: Difference) -> dict[str, Any]:
    return {
        "target": difference.target,
        "same_structure": difference.same_structure,
        "config": {key: {"here": a, "there": b} for key, (a, b) in difference.config.items()},
        "changes": [
            {
                "kind": change.kind,
                "name": change.name,
                "layers": list(change.layers),
                "tensors": change.count,
                "here": change.here,
                "there": change.there,
            }
            for change in difference.changes
        ],
    }
