"""What compressed-tensors writes, from its config: the inverse of ``compressed``.

Sources: compressed_tensors/quantization (``quant_config``, ``quant_args``, ``lifecycle``) and
compressors. A config has groups, each with ``targets`` (names, expressions after ``re:``, or the
class ``Linear``), ``weights`` and ``input_activations``; ``ignore`` has names and expressions.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ...core.components import Component
from ...trees.prediction import Prediction
from .declared import Declared
from .packed_layout import (
    KEEP,
    LINEARS,
    Linear,
    PackedPlan,
    PackedTensors,
    Scheme,
    UndeterminedError,
    exact,
    parts,
    scales,
    table,
    weights,
    zero_points,
)
from .selection import Selection

_CLASS = "Linear"
_HEAD = "lm_head"
#: Since this version words are filled without gaps.
_DENSE_SINCE = (0, 14)
_MAX_GROUPS = 1_000
#: Keys of ``weights`` -> what their values are where they are not null.
_KINDS: Mapping[str, type] = MappingProxyType(
    {"num_bits": int, "group_size": int, "type": str, "strategy": str, "symmetric": bool}
)


class _GroupSettings(NamedTuple):
    """``weights`` of a group, and whether inputs have a scale of their own in the file."""

    layout: str
    bits: int
    kind: str
    strategy: str
    group: int | None
    block: tuple[int, int] | None
    symmetric: bool
    ordered: bool
    input_scale: bool
    input_zero: bool
    dense: bool | None


def plan(declared: Declared, prediction: Prediction) -> PackedPlan:
    """Modules by the groups that name them, the other ones of the class Linear by the group that
    names the class. Raises UndeterminedError."""
    if declared.section("sparsity_config").get("format") not in (None, "dense"):
        raise UndeterminedError("how many values are zero is not in the config")
    _check_transforms(declared)
    ignored = declared.names("ignore") or []
    if _HEAD in ignored and _head_is_elsewhere(prediction):
        raise UndeterminedError(f"it keeps {_HEAD}, and the files call the output head otherwise")
    selection = Selection()
    _select(selection, ignored, KEEP)
    scheme: Scheme | None = None
    groups = list(declared.section("config_groups").values())[:_MAX_GROUPS]
    if not groups:
        raise UndeterminedError("it has no config_groups")
    for entry in groups:
        group: Mapping[str, object] = entry if isinstance(entry, Mapping) else {}
        settings = _settings(declared, group)
        group_scheme = _scheme(settings)
        targets = group.get("targets")
        names = targets if isinstance(targets, list) else []
        if _CLASS in names:
            scheme = group_scheme
        _select(selection, [target for target in names if target != _CLASS], group_scheme)
    cache = "attention" if declared.values.get("kv_cache_scheme") else ""
    return PackedPlan(scheme, selection, LINEARS, cache_scales=cache)


def _head_is_elsewhere(prediction: Prediction) -> bool:
    """Whether an output head of its own is called otherwise than the library calls it."""
    return _HEAD not in prediction.root.children and any(
        place.head + spec.name not in prediction.tied
        for place in prediction.tensors.places()
        for spec in place.template.rows
        if spec.component is Component.HEAD and spec.kind == "lm_head"
    )


def _select(selection: Selection, patterns: list[object], label: object) -> None:
    for pattern in patterns:
        if isinstance(pattern, str) and pattern.startswith("re:"):
            selection.expression(pattern[3:], label)
        else:
            selection.add([pattern], label, inside=False, alone=True)


def _check_transforms(declared: Declared) -> None:
    """Rotations that are merged into weights leave no trace; others are tensors."""
    groups = declared.section("transform_config").get("config_groups")
    for group in list(groups.values())[:_MAX_GROUPS] if isinstance(groups, Mapping) else ():
        applied = group.get("apply") if isinstance(group, Mapping) else None
        for entry in applied if isinstance(applied, list) else ():
            location = entry.get("location") if isinstance(entry, Mapping) else None
            if not isinstance(location, str) or not location.startswith("weight_"):
                raise UndeterminedError("its transforms are tensors of their own")


def _settings(declared: Declared, group: Mapping[str, object]) -> _GroupSettings:
    weights = group.get("weights")
    weight = Declared(values=weights if isinstance(weights, Mapping) else {})
    for key, kind in _KINDS.items():
        value = weight.values.get(key)
        if value is not None and type(value) is not kind:
            raise UndeterminedError(f"the {key} {value!r:.40} of a group is not read")
    bits = weight.integer("num_bits")
    if bits is None:
        raise UndeterminedError("a group names no num_bits")
    activations = group.get("input_activations")
    inputs = activations if isinstance(activations, Mapping) else None
    # "local" scales are computed while running, from one that is stored.
    static = inputs is not None and inputs.get("dynamic") in (None, False, "local")
    format_name = group.get("format")
    block = weight.values.get("block_structure")
    size = weight.integer("group_size")
    return _GroupSettings(
        layout=format_name if isinstance(format_name, str) else declared.text("format"),
        bits=bits,
        kind=weight.text("type") or "int",
        strategy=weight.text("strategy") or ("channel" if size in (None, -1) else "group"),
        group=size if size is not None and size > 0 else None,
        block=_pair(block),
        symmetric=weight.values.get("symmetric") is not False,
        ordered=weight.values.get("actorder") in (True, "group"),
        input_scale=static,
        input_zero=static and inputs is not None and inputs.get("symmetric") is False,
        dense=_is_dense(declared.text("version")),
    )


def _pair(block: object) -> tuple[int, int] | None:
    if not isinstance(block, list) or len(block) != 2:
        return None
    high, wide = block
    return (high, wide) if all(type(s) is int and s > 0 for s in block) else None


def _is_dense(version: str) -> bool | None:
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})", version)
    return None if numbers is None else (int(numbers[1]), int(numbers[2])) >= _DENSE_SINCE


def _scheme(settings: _GroupSettings) -> Scheme:
    layout = settings.layout
    if layout == "pack-quantized" and settings.kind == "int":
        return lambda linear: _words(linear, settings)
    by_bytes = settings.bits == 8 or (settings.kind == "int" and 1 < settings.bits < 8)
    if by_bytes and layout in ("int-quantized", "float-quantized", "naive-quantized"):
        return lambda linear: _bytes(linear, settings)  # a byte each, whatever the bits
    if layout == "mxfp8-quantized" and (settings.bits, settings.kind) == (8, "float"):
        return lambda linear: _microscaled_bytes(linear, settings)
    if layout == "nvfp4-pack-quantized":
        return lambda linear: _nvfp4(linear, settings)
    if layout in ("mxfp4-pack-quantized", "mxfp6-pack-quantized"):
        return lambda linear: _microscaled(linear, int(layout[4]))
    raise UndeterminedError(f"the format {layout!r:.40} is not predicted")


def _scales_shape(linear: Linear, settings: _GroupSettings) -> tuple[int, ...]:
    if settings.strategy == "tensor":
        return (1,)
    if settings.strategy == "channel":
        return linear.out, 1
    if settings.strategy in ("group", "tensor_group") and settings.group:
        if settings.dense and linear.inputs >= settings.group:  # the library refuses a rest
            exact(linear.inputs, settings.group, "the width")
        return linear.out, parts(linear.inputs, settings.group)
    if settings.strategy == "block" and settings.block:
        return parts(linear.out, settings.block[0]), parts(linear.inputs, settings.block[1])
    raise UndeterminedError(f"the strategy {settings.strategy!r:.40} is not known")


def _words(linear: Linear, settings: _GroupSettings) -> PackedTensors:
    bits = settings.bits
    shape = _scales_shape(linear, settings)
    if not 1 <= bits <= 8:
        raise UndeterminedError(f"{bits} bits do not fit into words")
    dense = parts(linear.inputs, 32) * bits
    loose = parts(linear.inputs, 32 // bits)
    if dense != loose and settings.dense is None:
        raise UndeterminedError("it names no version, on which the layout of these words depends")
    words = dense if settings.dense or dense == loose else loose
    tensors = {
        "weight_packed": weights("I32", (linear.out, words), linear.parameters, bits, f"INT{bits}"),
        "weight_scale": scales(None, *shape),
        "weight_shape": table("I64", 2),
    }
    if not settings.symmetric:
        rows = parts(shape[0], 32) * bits if settings.dense else parts(shape[0], 32 // bits)
        tensors["weight_zero_point"] = zero_points("I32", rows, *shape[1:])
    if settings.ordered:
        tensors["weight_g_idx"] = table("I32", linear.inputs)
    return {**tensors, **_inputs(settings)}


def _bytes(linear: Linear, settings: _GroupSettings) -> PackedTensors:
    floats = settings.kind == "float"
    shape = _scales_shape(linear, settings)
    tensors = {
        "weight": weights(
            "F8_E4M3" if floats else "I8",
            (linear.out, linear.inputs),
            linear.parameters,
            8,
            "FP8" if floats else "INT8",
        ),
        "weight_scale": scales(None, *shape),
    }
    if not settings.symmetric:
        tensors["weight_zero_point"] = zero_points("F8_E4M3" if floats else "I8", *shape)
    return {**tensors, **_inputs(settings)}


def _microscaled_bytes(linear: Linear, settings: _GroupSettings) -> PackedTensors:
    groups = exact(linear.inputs, 32, "the width")
    shape = (linear.out, linear.inputs)
    tensors = {
        "weight": weights("F8_E4M3", shape, linear.parameters, 8, "MXFP8"),
        "weight_scale": scales("U8", linear.out, groups),
    }
    return {**tensors, **_inputs(settings)}


def _inputs(settings: _GroupSettings) -> PackedTensors:
    tensors = {}
    if settings.input_scale:
        tensors["input_scale"] = scales(None, 1)
    if settings.input_zero:
        tensors["input_zero_point"] = zero_points("I8", 1)
    return tensors


def _nvfp4(linear: Linear, settings: _GroupSettings) -> PackedTensors:
    groups = exact(linear.inputs, 16, "the width")
    shape = linear.out, linear.inputs // 2
    tensors = {
        "weight_packed": weights("U8", shape, linear.parameters, 4, "NVFP4"),
        "weight_scale": scales("F8_E4M3", linear.out, groups),
        "weight_global_scale": scales("F32", 1),
    }
    return {**tensors, "input_global_scale": scales("F32", 1)} if settings.input_scale else tensors


def _microscaled(linear: Linear, bits: int) -> PackedTensors:
    groups = exact(linear.inputs, 32, "the width")
    shape = linear.out, linear.inputs * bits // 8
    return {
        "weight_packed": weights("U8", shape, linear.parameters, bits, f"MXFP{bits}"),
        "weight_scale": scales("U8", linear.out, groups),
    }
