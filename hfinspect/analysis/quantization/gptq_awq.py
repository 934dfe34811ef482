"""GPTQ, AWQ, AutoRound and Marlin: integers of a few bits packed densely into words.

GPTQ (AutoGPTQ, GPTQModel: ``qlinear``): ``qweight`` (in·bits/32, out), ``qzeros``
(groups, out·bits/32), ``scales`` (groups, out), ``g_idx`` (in). Three bits pack 32 values in three
words, which is the same formula. AWQ (AutoAWQ: ``WQLinear_*``): gemm ``qweight`` (in, out·bits/32)
and ``scales`` (groups, out); gemv ``qweight`` (out, in·bits/32), ``scales`` (out, groups padded);
gemv_fast ``qweight`` of 16-bit words (out/4, in) and ``scales`` (groups padded, out). AutoRound
writes either. Marlin: ``B`` (in/16, out·16·bits/32) and ``s`` (groups, out).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...core.tensor import DTYPE_BITS, StoredTensor
from ...trees.modules import Layers, Module
from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Holds, Modules, Sheet, StoredModule, whole_ratio
from .modules_not_packed import check_saved_as_packed, never_packed, unlisted_modules
from .packed_layout import (
    CONV1D,
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
from .read_modules import read_modules
from .selection import Selection

_ASIDE = {
    "scales": Holds.SCALES,
    "qzeros": Holds.ZERO_POINTS,
    "g_idx": Holds.TABLES,
    "s": Holds.SCALES,
    "workspace": Holds.TABLES,
    "perm": Holds.TABLES,
}
#: What is made from a Linear and not packed by GPTQ's tools.
_GROUPED = frozenset({"DeepseekV4GroupedLinear"})
_WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8)


class _PackedLayout(NamedTuple):
    """The logical shape and the bits that shapes agree on."""

    parameters: int
    bits: int
    scheme: str


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Every module with a ``qweight``, or Marlin's ``B``."""
    read_modules(modules, sheet, lambda module, to: _read_module(module, declared, to), "bias")


def _read_module(module: StoredModule, declared: Declared, sheet: Sheet) -> None:
    packed = module.get("qweight")
    if packed is None:
        _read_marlin(module, sheet)
        return
    name = module.full("weight")
    layout = _layout(module, packed, declared)
    if isinstance(layout, str):
        sheet.unknown(packed, name, layout)
    else:
        _check_bits(layout, packed, declared, sheet)
        sheet.weight(packed, name, layout.parameters, layout.bits, layout.scheme)
    _set_aside(module, name, sheet)
    bias = module.get("bias")
    if bias is not None and sheet.predicted(name) and sheet.predicted(bias.name) is None:
        sheet.aside(bias, name, Holds.TABLES)  # zeros that the tool has added


def _set_aside(module: StoredModule, name: str, sheet: Sheet) -> None:
    for suffix, holds in _ASIDE.items():
        tensor = module.get(suffix)
        if tensor is not None:
            sheet.aside(tensor, name, holds)


def _check_bits(
    layout: _PackedLayout, packed: StoredTensor, declared: Declared, sheet: Sheet
) -> None:
    claimed = declared.integer("bits", "w_bit")
    # GPTQModel's and AutoRound's lists of modules with settings of their own.
    varies = declared.section("dynamic") or declared.section("extra_config")
    if claimed is not None and claimed != layout.bits and not varies:
        bits = f"{layout.bits} bits per weight"
        text = f"{packed.name} holds {bits} where {declared.where} says {claimed}"
        sheet.note("quantization-mismatch", text, packed.name)


def _layout(module: StoredModule, packed: StoredTensor, declared: Declared) -> _PackedLayout | str:
    """The layout that the shapes allow, or why there is none."""
    word = DTYPE_BITS.get(packed.dtype, 0)
    if packed.dtype not in ("I32", "U32", "I16", "I64", "I8", "U8"):
        return f"{packed.dtype} words are not known"
    if len(packed.shape) != 2:
        return f"its shape {packed.shape} is not a matrix"
    scales = module.get("scales")
    if scales is None or len(scales.shape) != 2:
        return "there are no scales that show the layout"
    rows, columns = packed.shape
    if packed.dtype == "I16" and scales.shape[1] == rows * 4 and module.get("g_idx") is None:
        return _PackedLayout(packed.elements * 4, 4, "AWQ gemv_fast")
    if columns == scales.shape[1]:
        return _gptq(module, packed, scales.shape[1], word, declared)
    bits = whole_ratio(columns * word, scales.shape[1])
    if bits in _WIDTHS and whole_ratio(rows, scales.shape[0]):
        return _PackedLayout(rows * scales.shape[1], bits, "AWQ gemm")
    bits = declared.integer("bits", "w_bit") or 4
    if rows == scales.shape[0] and bits in _WIDTHS:
        total = whole_ratio(packed.elements * word, bits)
        return "its bits do not divide" if total is None else _PackedLayout(total, bits, "AWQ gemv")
    return f"its shape {packed.shape} does not fit scales of {scales.shape}"


def _gptq(
    module: StoredModule, packed: StoredTensor, out: int, word: int, declared: Declared
) -> _PackedLayout | str:
    rows = packed.shape[0]
    order = module.get("g_idx")
    zeros = module.get("qzeros")
    inputs = order.elements if order is not None and order.elements else None
    if inputs is not None:
        bits = whole_ratio(rows * word, inputs)
    elif zeros is not None and len(zeros.shape) == 2 and zeros.elements:
        bits = whole_ratio(zeros.shape[1] * DTYPE_BITS.get(zeros.dtype, 0), out)
    else:
        bits = declared.integer("bits")
    if bits not in _WIDTHS:
        return f"{rows} rows of {word}-bit words do not divide among its {inputs or '?'} inputs"
    inputs = whole_ratio(rows * word, bits)
    if inputs is None:
        return f"{rows} rows of {word}-bit words do not hold a whole number of {bits}-bit values"
    return _PackedLayout(inputs * out, bits, "GPTQ")


def _read_marlin(module: StoredModule, sheet: Sheet) -> None:
    packed = module.get("B")
    scales = module.get("s")
    sparse = module.get("B_24")
    if sparse is not None:
        sheet.unknown(sparse, module.full("weight"), "the 2:4 sparse Marlin layout is not read")
    elif packed is not None and scales is not None and packed.dtype in ("I32", "U32"):
        out = scales.shape[-1] if scales.shape else 0
        values = whole_ratio(packed.shape[-1] * 32, 16 * out) if packed.shape else None
        if len(packed.shape) != 2 or values not in _WIDTHS:
            why = f"its shape {packed.shape} does not fit scales of {scales.shape}"
            sheet.unknown(packed, module.full("weight"), why)
        else:
            total = packed.shape[0] * 16 * out
            sheet.weight(packed, module.full("weight"), total, values, "Marlin")
    else:
        return
    _set_aside(module, module.full("weight"), sheet)
    meta = module.get("B_meta")
    if meta is not None:
        sheet.aside(meta, module.full("weight"), Holds.TABLES)


# ---- the inverse


def plan(declared: Declared, config: Mapping[str, object], prediction: Prediction) -> PackedPlan:
    """Every Linear in the layers of the language model, as these tools go layer by layer.

    ``modules_in_block_to_quantize`` and GPTQModel's ``dynamic`` (``-:`` leaves modules out, ``+:``
    gives them settings of their own) say more of GPTQ, ``modules_to_not_convert`` of AWQ.
    """
    selection = Selection()
    scheme: Scheme | None
    outside = ""
    check_decoder(prediction)
    if declared.method.startswith("awq"):
        check_saved_as_packed(prediction, config)
        scheme = awq(declared.text("version") or "gemm", *_settings(declared))
        listed = declared.names("modules_to_not_convert")
        selection.add(listed or (), KEEP)
        selection.add(never_packed(prediction), KEEP)
        if not listed:  # transformers reads what AutoAWQ leaves outside of the layers as packed
            selection.add(unlisted_modules(prediction), KEEP, inside=False)
            outside = "it does not list what stays as it is outside of the layers"
    else:
        scheme = _gptq_plan(declared, selection)
    heads = declared.values.get("lm_head") is True
    if heads:
        selection.add(["lm_head"], scheme)
    # AutoGPTQ and AutoAWQ load and save in float16, AutoAWQ without exception.
    floats = "F16" if declared.method.startswith("awq") else None
    return PackedPlan(
        scheme,
        selection,
        LINEARS if floats else LINEARS - _GROUPED | CONV1D,
        layers_only=True,
        outside=outside,
        dtype="F16",
        floats=floats,
        biases="F16",
    )


def _gptq_plan(declared: Declared, selection: Selection) -> Scheme | None:
    form = (
        "marlin" if declared.values.get("is_marlin_format") else declared.text("checkpoint_format")
    )
    if form not in ("", "gptq", "gptq_v2"):
        raise UndeterminedError(f"the format {form!r:.40} is not predicted")
    bits, group = _settings(declared)
    biased = _adds_biases(declared)
    scheme = gptq(bits, group, adds_bias=biased)
    for pattern, settings in declared.section("dynamic").items():
        overrides = settings if isinstance(settings, Mapping) else {}
        label: object = KEEP
        if not pattern.startswith("-:"):
            merged = Declared(declared.method, {**declared.values, **overrides}, declared.where)
            label = gptq(*_settings(merged), adds_bias=biased)
        selection.expression(pattern.removeprefix("-:").removeprefix("+:"), label)
    blocks = declared.names("modules_in_block_to_quantize")
    if blocks is None:
        return scheme
    for names in blocks:
        selection.add(names if isinstance(names, list) else [names], scheme)
    return None


def _settings(declared: Declared) -> tuple[int, int]:
    bits = declared.integer("bits", "w_bit")
    group = declared.integer("group_size", "q_group_size")
    if bits not in _WIDTHS or group is None or group == 0:
        raise UndeterminedError("it does not name bits and group_size")
    return bits, group


def _adds_biases(declared: Declared) -> bool:
    """AutoGPTQ before 0.8 gave every Linear a bias. Its configs name ``model_file_base_name`` and
    no ``checkpoint_format``, which came in the same week (March 2024)."""
    return "model_file_base_name" in declared.values and "checkpoint_format" not in declared.values


def gptq(bits: int, group: int, *, order: bool = True, adds_bias: bool = False) -> Scheme:
    """AutoGPTQ's and GPTQModel's layout; AutoRound has no ``g_idx`` (``order``)."""

    def pack(linear: Linear) -> PackedTensors:
        groups = _groups(linear, group)
        rows = exact(linear.inputs, 32, "the width") * bits
        columns = exact(linear.out, 32, "the width") * bits
        tensors = {
            "qweight": weights("I32", (rows, linear.out), linear.parameters, bits, "GPTQ"),
            "qzeros": zero_points("I32", groups, columns),
            "scales": scales("F16", groups, linear.out),
        }
        if order:
            tensors["g_idx"] = table("I32", linear.inputs)
        if adds_bias and not linear.has_bias:
            tensors["bias"] = table("F16", linear.out)
        return tensors

    return pack


def awq(version: str, bits: int, group: int) -> Scheme:
    """AutoAWQ's three layouts."""
    if version not in ("gemm", "gemv", "gemv_fast") or bits != 4:
        raise UndeterminedError(f"AWQ {version:.40} of {bits} bits is not known")

    def pack(linear: Linear) -> PackedTensors:
        out = linear.out
        inputs = linear.inputs
        count = linear.parameters
        groups = _groups(linear, group)
        if version == "gemm":
            columns = exact(out, 8, "the width")
            return {
                "qweight": weights("I32", (inputs, columns), count, 4, "AWQ gemm"),
                "qzeros": zero_points("I32", groups, columns),
                "scales": scales("F16", groups, out),
            }
        padded = parts(groups, 8)
        if version == "gemv":
            columns = exact(inputs, 8, "the width")
            return {
                "qweight": weights("I32", (out, columns), count, 4, "AWQ gemv"),
                "qzeros": zero_points("I32", out, padded),
                "scales": scales("F16", out, padded * 8),
            }
        rows = exact(out, 4, "the width")
        return {
            "qweight": weights("I16", (rows, inputs), count, 4, "AWQ gemv_fast"),
            "qzeros": zero_points("F16", padded * 8, out),
            "scales": scales("F16", padded * 8, out),
        }

    return pack


def _groups(linear: Linear, group: int) -> int:
    return 1 if group < 0 else parts(linear.inputs, group)


# AutoGPTQ, GPTQModel and AutoAWQ pack layer by layer. Sources: their lists of model definitions,
# each with the one list of layers of its decoder; optimum/gptq (``BLOCK_PATTERNS``).

#: Model types that call the layers of their decoder those of an encoder.
_DECODERS = frozenset({"chatglm"})


def check_decoder(prediction: Prediction) -> None:
    """Raise UndeterminedError where the tools have no list of layers to go through, or several:
    they pack decoders."""
    lists = list(_text_layers(prediction.root, "", "text"))
    if not lists:
        raise UndeterminedError(
            "its tools pack only the layers of a language model, and this model has none"
        )
    of_encoder = prediction.model_type not in _DECODERS and any("encoder" in n for n in lists)
    if of_encoder or (lists == ["model.decoder.layers"] and "audio" in _parts(prediction)):
        raise UndeterminedError("its tools pack decoders alone, and this model has an encoder")
    if len(lists) > 1:
        raise UndeterminedError(f"its tools pack one list of layers, and there are {len(lists)}")


def _text_layers(module: Module, name: str, part: str) -> Iterator[str]:
    """The names of the lists of layers of the language model."""
    part = module.part or part
    for key, child in module.children.items():
        if not isinstance(child, Module) or not child.saved:
            continue
        full = f"{name}.{key}" if name else key
        if not (isinstance(child, Layers) and child.is_layers):
            yield from _text_layers(child, full, part)
        elif (child.part or part) == "text":
            yield full


def _parts(prediction: Prediction) -> set[str]:
    return {spec.part for spec, _ in prediction.tensors.counted()}
