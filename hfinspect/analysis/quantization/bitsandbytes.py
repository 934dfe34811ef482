"""bitsandbytes: 4-bit (nf4, fp4, with or without double quantisation) and int8.

Sources: bitsandbytes/functional.py (``QuantState.as_dict``) and nn/modules.py. 4 bits: ``weight``
holds two values a byte, as bytes (n/2, 1) or as words of another dtype, next to
``weight.absmax``, ``weight.quant_map``, ``weight.quant_state.bitsandbytes__nf4``, and for double
quantisation ``weight.nested_absmax`` and ``weight.nested_quant_map``. int8: ``weight`` with
``SCB`` (out) and ``weight_format``.
"""

import json
from collections.abc import Mapping

from ...core.tensor import DTYPE_BITS, TORCH_DTYPES, StoredTensor
from ...trees.modules import Parameter
from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Holds, Modules, Sheet
from .modules_not_packed import (
    NO_VERSION,
    check_saved_as_packed,
    has_experts_apart,
    never_packed,
    no_linear_since_5,
    unlisted_modules,
)
from .packed_layout import (
    CONV1D,
    KEEP,
    LINEAR,
    LINEARS,
    Fused,
    Linear,
    PackedPlan,
    PackedTensors,
    Scheme,
    UndeterminedError,
    parts,
    scales,
    table,
    weights,
)
from .selection import Selection

_STATE = "quant_state"
_ASIDE = {
    "absmax": Holds.SCALES,
    "nested_absmax": Holds.SCALES,
    "quant_map": Holds.TABLES,
    "nested_quant_map": Holds.TABLES,
}
#: Block sizes of quantize_4bit.
_BLOCKS = (32, 64, 128, 256, 512, 1024, 2048, 4096)


def read(modules: Modules, _declared: Declared, sheet: Sheet) -> None:
    """Groups named after a weight hold 4-bit state; modules with SCB are int8."""
    for name, module in modules.items():
        absmax = module.get("absmax")
        if absmax is not None:
            _read_four_bits(modules, name, absmax, sheet)
            for suffix, holds in _ASIDE.items():
                tensor = module.get(suffix)
                if tensor is not None:
                    sheet.aside(tensor, name, holds)
        elif name.endswith(f".{_STATE}"):
            for tensor in module.tensors.values():
                sheet.aside(tensor, name.removesuffix(f".{_STATE}"), Holds.TABLES)
        scales = module.get("SCB")
        weight = module.get("weight")
        if scales is None:
            continue
        if weight is not None and weight.dtype == "I8":
            sheet.weight(weight, weight.name, weight.elements, 8, "int8")
        elif weight is not None:
            sheet.unknown(weight, weight.name, f"{weight.dtype} next to SCB is not an int8 weight")
        sheet.aside(scales, module.full("weight"), Holds.SCALES)
        form = module.get("weight_format")
        if form is not None:
            sheet.aside(form, module.full("weight"), Holds.TABLES)


def _read_four_bits(modules: Modules, name: str, absmax: StoredTensor, sheet: Sheet) -> None:
    parent, _, suffix = name.rpartition(".")
    module = modules.get(parent)
    weight = module.get(suffix) if module is not None else None
    if weight is None:
        return
    states = modules.get(f"{name}.{_STATE}")
    kinds = [key.removeprefix("bitsandbytes__") for key in (states.tensors if states else ())]
    total = 2 * weight.nbytes
    predicted = sheet.predicted(name)
    if predicted is not None and predicted + 1 == total:
        total = predicted  # an odd number of values leaves half a byte unused
    if not any(-(-total // size) == absmax.elements for size in _BLOCKS):
        why = f"{absmax.elements:,} scales do not fit {total:,} values in blocks of any size"
        sheet.unknown(weight, name, why)
        return
    sheet.weight(weight, name, total, 4, kinds[0][:20] if len(kinds) == 1 else "4-bit")


# ---- the inverse

_BLOCK = 64
_NESTED_BLOCK = 256
#: The shortest number is ``0.0``; a double has at most 24 characters.
_SHORTEST = 3
_LONGEST = 24


#: Model types of which it takes experts apart to pack them.
_TAKEN_APART = frozenset({"llama4", "llama4_text"})


def plan(declared: Declared, config: Mapping[str, object], prediction: Prediction) -> PackedPlan:
    """Every Linear but those listed; without a list, all but the output head (transformers,
    ``get_modules_to_not_convert``). Experts are packed by versions that have a Linear of each."""
    check_saved_as_packed(prediction, config)
    apart = has_experts_apart(config, prediction)
    experts_stay = apart is False
    joined = experts_stay and prediction.model_type not in _TAKEN_APART
    unpacked = declared.names("llm_int8_skip_modules")
    selection = Selection()
    selection.add(unpacked or (), KEEP)
    selection.add(never_packed(prediction), KEEP)
    if experts_stay:
        selection.add(no_linear_since_5(prediction), KEEP)
    if unpacked is None:
        selection.add(unlisted_modules(prediction), KEEP, inside=False)
    if declared.values.get("load_in_8bit") is True or declared.values.get("_load_in_8bit") is True:
        packed: Scheme = _eight_bits
    elif (
        declared.values.get("load_in_4bit") is True or declared.values.get("_load_in_4bit") is True
    ):
        packed = _four_bits(declared)
    else:
        raise UndeterminedError("it says neither load_in_4bit nor load_in_8bit")

    def scheme(linear: Linear) -> PackedTensors | None:
        if linear.is_expert and apart is None:
            raise UndeterminedError(NO_VERSION)
        return None if linear.is_expert and experts_stay else packed(linear)

    # Version 5 replaces a Linear and nothing made from it.
    classes = (LINEAR if experts_stay else LINEARS) | CONV1D
    return PackedPlan(scheme, selection, classes, fused=_as_it_is if joined else None)


def _as_it_is(fused: Fused) -> PackedTensors:
    return {fused.name: Parameter(fused.shape)}


def _eight_bits(linear: Linear) -> PackedTensors:
    shape = (
        (linear.inputs, linear.out) if linear.module == "Conv1D" else (linear.out, linear.inputs)
    )
    return {
        "weight": weights("I8", shape, linear.parameters, 8, "int8"),
        "SCB": scales("F32", linear.out),
        "weight_format": table("U8"),
    }


def _four_bits(declared: Declared) -> Scheme:
    kind = declared.text("bnb_4bit_quant_type") or "fp4"
    nested = declared.values.get("bnb_4bit_use_double_quant") is True
    storage = TORCH_DTYPES.get(declared.text("bnb_4bit_quant_storage") or "uint8")
    if kind not in ("nf4", "fp4") or storage is None:
        raise UndeterminedError(f"the type {kind!r:.40} is not known")

    def pack(linear: Linear) -> PackedTensors:
        nbytes = parts(linear.parameters, 2)
        size = DTYPE_BITS[storage] // 8
        blocks = parts(linear.parameters, _BLOCK)
        state, varies = _state(linear, kind, nested)
        tensors = {
            "weight": weights(storage, (parts(nbytes, size), 1), linear.parameters, 4, kind),
            "weight.absmax": scales("U8" if nested else "F32", blocks),
            "weight.quant_map": table("F32", 16),
            f"weight.quant_state.bitsandbytes__{kind}": table("U8", state, varies=varies),
        }
        if nested:
            tensors["weight.nested_absmax"] = scales("F32", parts(blocks, _NESTED_BLOCK))
            tensors["weight.nested_quant_map"] = table("F32", 256)
        return tensors

    return pack


def _state(linear: Linear, kind: str, nested: bool) -> tuple[int, int]:
    """The least length of the settings as JSON (``QuantState.as_dict``), and what may be added: the
    offset of the nested quantisation is a number whose digits follow from the data."""
    names = (name for name, code in TORCH_DTYPES.items() if code == linear.dtype)
    dtype = next(names, None)  # the first is the one that torch shows
    if dtype is None:
        raise UndeterminedError(
            "config.json names no dtype, which the settings of each module repeat"
        )
    state: dict[str, object] = {
        "quant_type": kind,
        "blocksize": _BLOCK,
        "dtype": dtype,
        "shape": [linear.out, linear.inputs],
    }
    if nested:
        state |= {
            "nested_blocksize": _NESTED_BLOCK,
            "nested_dtype": "float32",
            "nested_offset": 0.0,
        }
    return len(json.dumps(state)), (_LONGEST - _SHORTEST) * nested
