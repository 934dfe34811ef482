"""Tensors that the class of the config has: missing, empty, or of another shape."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...core.components import Component, Role
from ...core.expectation import Expectation, Reshaped
from ...core.tensor import TensorInfo, TensorSpec
from ...core.text import shape_text
from ...core.wholeness import Problem, of_names
from ...trees.prediction import Prediction
from .evidence import Evidence

#: From this share of missing tensors on the files hold another model.
_ANOTHER_MODEL: Final = (9, 10)
#: What a saved shape of no element is called: DeepSpeed leaves one axis of length zero.
_ZERO3: Final = "saved under ZeRO-3 without gathering"


def missing_tensors(evidence: Evidence) -> Iterator[Problem]:
    """Parameters that the class has and no file holds, one problem for each cause."""
    expectation = evidence.expectation
    prediction = evidence.prediction
    if expectation is None or prediction is None or not expectation.missing:
        return
    specs = _missing_parameters(evidence, expectation, prediction)
    if not specs:
        return
    share, all_of_it = _ANOTHER_MODEL
    if all_of_it * len(specs) >= share * len(prediction.tensors) and expectation.unexpected:
        yield _another_model(specs, expectation, prediction)
        return
    parts = _wholly_missing_parts(specs, prediction)
    for part, members in parts.items():
        yield _part(part, members)
    others = [spec for spec in specs if spec.part not in parts]
    heads = [spec for spec in others if spec.component is Component.HEAD]
    if heads:
        yield _head(heads, prediction)
    body = [spec for spec in others if spec.component is not Component.HEAD]
    if body:
        yield _body(body, prediction)


def _missing_parameters(
    evidence: Evidence, expectation: Expectation, prediction: Prediction
) -> list[TensorSpec]:
    """Without those that a missing file explains, and without buffers, which loaders make."""
    checkpoint = evidence.checkpoint
    gone = (*checkpoint.missing, *checkpoint.unread)
    if gone and checkpoint.index is None:
        return []  # which tensors are in the lost files, nobody knows
    names = set(expectation.missing)
    if gone and checkpoint.index is not None:
        index = checkpoint.index
        weight_map: Mapping[str, str] = index.weight_map
        if evidence.renamed is not None:
            weight_map = {evidence.renamed.of(name): file for name, file in weight_map.items()}
        names -= _lost(index.file, weight_map, gone, prediction)
    specs = {spec.name: spec for spec in prediction.specs if spec.name in names}
    in_order = (specs[name] for name in expectation.missing if name in specs)
    return [spec for spec in in_order if spec.role is Role.PARAMETER]


def _lost(
    index: str, weight_map: Mapping[str, str], missing: Sequence[str], prediction: Prediction
) -> set[str]:
    """Names that the index gives to missing files, with and without the prefix of the base."""
    folder = index[: index.rfind("/") + 1]
    gone = set(missing)
    lost = {name for name, shard in weight_map.items() if folder + shard in gone}
    prefix = f"{prediction.family.base_prefix}." if prediction.family else "."
    return lost | {name.removeprefix(prefix) for name in lost} | {prefix + name for name in lost}


def _another_model(
    specs: Sequence[TensorSpec], expectation: Expectation, prediction: Prediction
) -> Problem:
    names, count = of_names([spec.name for spec in specs])
    total = len(prediction.tensors)
    few = "none" if count == total else f"only {total - count:,}"
    text = f"{few} of the {total:,} tensors of {prediction.architecture} are in the files"
    cause = f"they hold others, such as {expectation.unexpected[0]}"
    return Problem("missing_tensors", text, count, names[0], cause, names=names)


def _wholly_missing_parts(
    specs: Sequence[TensorSpec], prediction: Prediction
) -> dict[str, list[TensorSpec]]:
    """Part -> its tensors, of parts of which no parameter is in the files, where others are."""
    missing: dict[str, list[TensorSpec]] = {}
    for spec in specs:
        missing.setdefault(spec.part, []).append(spec)
    totals: dict[str, int] = {}
    for spec, count in prediction.tensors.counted():
        if spec.role is Role.PARAMETER:
            totals[spec.part] = totals.get(spec.part, 0) + count
    if len(totals) < 2:
        return {}
    return {part: group for part, group in missing.items() if len(group) == totals.get(part)}


def _part(part: str, specs: Sequence[TensorSpec]) -> Problem:
    names, count = of_names([spec.name for spec in specs])
    what = "part" if part in ("text", "projector") else "tower"
    place = _common_place(names)
    under = f" under {place}" if place else ""
    text = f"the {part} {what} is missing: {_tensors(count)}{under}"
    return Problem("missing_part", text, count, names[0], names=names)


def _head(specs: Sequence[TensorSpec], prediction: Prediction) -> Problem:
    names, count = of_names([spec.name for spec in specs])
    cause = f"{prediction.architecture} has a head of its own, not tied to the embedding"
    return Problem("missing_tensors", f"the head is missing: {names[0]}", count, names[0], cause,
                   names=names)  # fmt: skip


def _body(specs: Sequence[TensorSpec], prediction: Prediction) -> Problem:
    names, count = of_names([spec.name for spec in specs])
    layers = _missing_layers(specs, prediction)
    if layers:
        return Problem("missing_tensors", f"{layers}: {_tensors(count)}", count, names[0],
                       names=names)  # fmt: skip
    is_one = count == 1
    are = "tensor is" if is_one else "tensors are"
    text = f"{count:,} {are} missing ({names[0]}{'' if is_one else ', ...'})"
    return Problem("missing_tensors", text, count, names[0], names=names)


def _missing_layers(specs: Sequence[TensorSpec], prediction: Prediction) -> str:
    """``layers 20 to 31 are missing``, where all that is missing are whole layers of one stack."""
    stacks = {spec.stack for spec in specs}
    if len(stacks) != 1 or None in stacks or any(spec.layer is None for spec in specs):
        return ""
    stack = stacks.pop()
    counts: dict[int | None, int] = {}
    for spec in prediction.tensors:
        if spec.stack == stack and spec.role is Role.PARAMETER:
            counts[spec.layer] = counts.get(spec.layer, 0) + 1
    missing: dict[int, int] = {}
    for spec in specs:
        layer = spec.layer or 0
        missing[layer] = missing.get(layer, 0) + 1
    if any(count != counts.get(layer) for layer, count in missing.items()):
        return ""
    numbers = sorted(missing)
    if len(numbers) == 1:
        return f"layer {numbers[0]} of {stack} is missing"
    in_a_row = numbers[-1] - numbers[0] + 1 == len(numbers)
    shown = f"{numbers[0]} to {numbers[-1]}" if in_a_row else ", ".join(map(str, numbers[:6]))
    return f"{len(numbers):,} layers of {stack} are missing ({shown})"


def _common_place(names: Sequence[str]) -> str:
    """The longest dotted beginning that all names share."""
    first = min(names).split(".")
    last = max(names).split(".")
    shared = 0
    while shared < min(len(first), len(last)) - 1 and first[shared] == last[shared]:
        shared += 1
    return ".".join(first[:shared])


def _tensors(count: int) -> str:
    return f"{count:,} tensor{'' if count == 1 else 's'}"


def other_shapes(evidence: Evidence) -> Iterator[Problem]:
    """Parameters of another shape than the config makes: empty ones, tables of tokens, others."""
    expectation = evidence.expectation
    if expectation is None or not expectation.reshaped:
        return
    infos = {info.name: info for info in evidence.tensors if info.name in expectation.reshaped}
    shapes = {
        name: shape
        for name, shape in expectation.reshaped.items()
        if name in infos and infos[name].role is Role.PARAMETER
    }
    empty = [name for name, shape in shapes.items() if _is_empty(shape)]
    if empty:
        yield _empty(empty)
    rows = [n for n, shape in shapes.items() if n not in empty and is_token_table(infos[n], shape)]
    if rows:
        yield _rows(rows, shapes, evidence.where)
    others = [name for name in shapes if name not in empty and name not in rows]
    if others:
        yield _others(others, shapes, evidence.where)


def _is_empty(shape: Reshaped) -> bool:
    return math.prod(shape.found) == 0 and math.prod(shape.expected) > 0


def _empty(empty: Sequence[str]) -> Problem:
    names, count = of_names(empty)
    text = f"{count:,} weight{' is' if count == 1 else 's are'} empty"
    return Problem("empty_tensors", text, count, names[0], _ZERO3, names=names)


def is_token_table(info: TensorInfo, shape: Reshaped) -> bool:
    """Whether only the rows of an embedding or a head differ."""
    table = info.kind in ("token", "lm_head") or info.component is Component.HEAD
    return (
        table and len(shape.found) == len(shape.expected) and shape.found[1:] == shape.expected[1:]
    )


def _rows(rows: Sequence[str], shapes: Mapping[str, Reshaped], where: str) -> Problem:
    names, count = of_names(rows)
    shape = shapes[names[0]]
    has = f"{shape.found[0]:,} rows, and {where} makes {shape.expected[0]:,}"
    text = f"{names[0]} has {has}"
    if count > 1:
        text = f"{count:,} tables have {has}"
    return Problem("wrong_shapes", text, count, names[0], names=names)


def _others(others: Sequence[str], shapes: Mapping[str, Reshaped], where: str) -> Problem:
    names, count = of_names(others)
    shape = shapes[names[0]]
    is_what = f"{shape_text(shape.found)}, and {where} makes {shape_text(shape.expected)}"
    text = f"{names[0]} is {is_what}"
    if count > 1:
        text = f"{count:,} tensors have other shapes: {names[0]} is {is_what}"
    return Problem("wrong_shapes", text, count, names[0], names=names)
