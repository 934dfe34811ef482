"""MLX: ``weight`` of 32-bit words (..., out, in·bits/32) with ``scales`` and ``biases``
(..., out, in/group).

Sources: mlx/nn/layers/quantized.py, mlx_lm/utils.py. All widths are packed densely (three bits as
32 values in three words). The config's entry of a module, or else its common one, has the group
size; the bits follow from the shapes. Without a group size the widths that fit decide, if they
agree, or what the catalog knows of the model. In transformers' ``metal`` the biases are called
``qbiases``.
"""

from collections.abc import Mapping

from ...core.tensor import StoredTensor
from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Holds, Modules, Sheet, StoredModule, whole_ratio
from .packed_layout import (
    KEEP,
    Linear,
    PackedPlan,
    PackedTensors,
    Scheme,
    UndeterminedError,
    exact,
    scales,
    weights,
    zero_points,
)
from .selection import Selection

_BITS = (2, 3, 4, 5, 6, 8)
_GROUPS = (16, 32, 64, 128)


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Every module with a weight of words and scales."""
    for module in modules.values():
        weight = module.get("weight")
        scales = module.get("scales")
        if weight is None or scales is None or weight.dtype != "U32":
            continue
        bits_and_inputs = _bits_and_inputs(
            weight, scales, _entry(module, declared), sheet.predicted(weight.name)
        )
        if bits_and_inputs is None:
            why = f"words {weight.shape} with scales {scales.shape} fit no bits and group size"
            sheet.unknown(weight, weight.name, why)
        else:
            bits, inputs = bits_and_inputs
            rows = weight.elements // weight.shape[-1]
            sheet.weight(weight, weight.name, rows * inputs, bits, _scheme(module, scales, bits))
        sheet.aside(scales, weight.name, Holds.SCALES)
        zeros = module.get("biases", "qbiases")
        if zeros is not None:
            sheet.aside(zeros, weight.name, Holds.ZERO_POINTS)


def _entry(module: StoredModule, declared: Declared) -> Mapping[str, object]:
    entry = declared.values.get(module.name)
    return entry if isinstance(entry, Mapping) else declared.values


def _bits_and_inputs(
    weight: StoredTensor, scales: StoredTensor, entry: Mapping[str, object], predicted: int | None
) -> tuple[int, int] | None:
    if not weight.shape or weight.shape[:-1] != scales.shape[:-1] or not weight.elements:
        return None
    groups = scales.shape[-1]
    group_size = entry.get("group_size")
    declared_bits = entry.get("bits")
    sizes = (group_size,) if type(group_size) is int and group_size > 0 else _GROUPS
    fits = [
        (bits, size * groups)
        for size in sizes
        for bits in [whole_ratio(weight.shape[-1] * 32, size * groups)]
        if bits in _BITS
    ]
    if len(fits) > 1 and declared_bits is None:
        rows = weight.elements // weight.shape[-1]
        fits = [fit for fit in fits if rows * fit[1] == predicted] or fits
    exact = [fit for fit in fits if fit[0] == declared_bits]
    if len(exact) == 1:
        return exact[0]
    return fits[0] if len(fits) == 1 else None


def _scheme(module: StoredModule, scales: StoredTensor, bits: int) -> str:
    if module.get("biases", "qbiases") is not None:
        return f"{bits}-bit affine"
    # Microscaling modes have no biases, and bytes as scales.
    return {4: "FP4", 8: "FP8"}.get(bits, f"{bits}-bit") if scales.dtype == "U8" else f"{bits}-bit"


# ---- the inverse

_MODES = {"affine": 0, "mxfp4": 4, "nvfp4": 4, "mxfp8": 8}


def plan(declared: Declared, _config: Mapping[str, object], prediction: Prediction) -> PackedPlan:
    """Every Linear and Embedding of a language model without experts, whose names mlx_lm keeps.
    An entry under a module's name has settings of its own, or false."""
    if any(
        spec.active is not None or spec.part != "text" for spec, _ in prediction.tensors.counted()
    ):
        raise UndeterminedError("MLX has names of its own for experts and for images")
    selection = Selection()
    for name, entry in declared.values.items():
        if entry is False:
            selection.add([name], KEEP, inside=False)
        elif isinstance(entry, Mapping):
            merged = Declared(declared.method, {**declared.values, **entry}, declared.where)
            selection.add([name], _packing(merged), inside=False)
    return PackedPlan(_packing(declared), selection, embeddings=True)


def _packing(declared: Declared) -> Scheme:
    bits = declared.integer("bits")
    group = declared.integer("group_size")
    mode = declared.text("mode") or "affine"
    if bits not in _BITS or group not in _GROUPS or _MODES.get(mode) not in (0, bits):
        raise UndeterminedError("MLX has no such bits, group_size and mode")

    def pack(linear: Linear) -> PackedTensors:
        words = exact(exact(linear.inputs, group, "the width") * group * bits, 32, "the width")
        groups = linear.inputs // group
        scheme = f"{bits}-bit affine" if mode == "affine" else {4: "FP4", 8: "FP8"}[bits]
        weight = weights("U32", (linear.out, words), linear.parameters, bits, scheme)
        if mode != "affine":
            return {"weight": weight, "scales": scales("U8", linear.out, groups)}
        return {
            "weight": weight,
            "scales": scales(None, linear.out, groups),
            "biases": zero_points(None, linear.out, groups),
        }

    return pack
