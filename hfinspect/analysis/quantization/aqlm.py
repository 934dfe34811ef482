"""AQLM: ``codes`` (out/og, in/ig, books) point into ``codebooks`` (books, entries, og, ig).

Source: aqlm/inference.py (``QuantizedLinear``). Every group of og·ig weights is a sum of one entry
of each codebook, so the weights follow from the two shapes.
"""

from collections.abc import Mapping

from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Holds, Modules, Sheet, whole_ratio
from .packed_layout import (
    KEEP,
    Linear,
    PackedPlan,
    PackedTensors,
    UndeterminedError,
    exact,
    scales,
    table,
    weights,
)
from .selection import Selection


def read(modules: Modules, _declared: Declared, sheet: Sheet) -> None:
    """Every module with codes and codebooks."""
    for module in modules.values():
        codes = module.get("codes")
        books = module.get("codebooks")
        if codes is None or books is None:
            continue
        name = module.full("weight")
        if len(codes.shape) == 3 and len(books.shape) == 4 and codes.shape[2] == books.shape[0]:
            size = books.shape[2] * books.shape[3]
            total = codes.shape[0] * codes.shape[1] * size
            bits = whole_ratio(8 * codes.nbytes, total)
            scheme = f"{books.shape[0]} codebooks of {books.shape[1]:,}"
            sheet.weight(codes, name, total, bits, scheme)
        else:
            sheet.unknown(codes, name, f"codes {codes.shape} do not fit codebooks {books.shape}")
        sheet.aside(books, name, Holds.TABLES)
        scales = module.get("scales")
        if scales is not None:
            sheet.aside(scales, name, Holds.SCALES)


def plan(declared: Declared, _config: Mapping[str, object], _prediction: Prediction) -> PackedPlan:
    """Every Linear whose weight is not listed in ``linear_weights_not_to_quantize``."""
    sizes = [
        declared.integer(key)
        for key in ("in_group_size", "out_group_size", "num_codebooks", "nbits_per_codebook")
    ]
    known = [size for size in sizes if size is not None and size > 0]
    if len(known) < 4 or known[3] > 16:
        raise UndeterminedError("it does not name the sizes of groups and codebooks")
    wide, high, books, bits = known
    unpacked = declared.names("linear_weights_not_to_quantize") or []
    selection = Selection()
    modules = [name.removesuffix(".weight") for name in unpacked if isinstance(name, str)]
    selection.add(modules, KEEP)

    def pack(linear: Linear) -> PackedTensors:
        rows = exact(linear.out, high, "the width")
        columns = exact(linear.inputs, wide, "the width")
        dtype = "I8" if bits <= 8 else "I16"
        entries = 2**bits
        total = linear.parameters
        width = whole_ratio(8 * (1 if bits <= 8 else 2) * rows * columns * books, total)
        scheme = f"{books} codebooks of {entries:,}"
        return {
            "codes": weights(dtype, (rows, columns, books), total, width, scheme),
            "codebooks": table(None, books, entries, high, wide),
            "scales": scales(None, rows, 1, 1, 1),
        }

    return PackedPlan(pack, selection)
