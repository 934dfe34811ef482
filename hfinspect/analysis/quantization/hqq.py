"""HQQ: ``W_q`` with ``scale`` and ``zero``, and its settings as tensors.

Source: hqq/core/quantize.py and bitpack.py. A weight is reshaped to (groups, group size) for axis
1, or (group size, groups) for axis 0, and its rows packed: 8, 4, 2 and 1 bits as 1, 2, 4 and 8 rows
a byte, 3 bits as 10 rows, the last ones padded, an int32. There is one scale a group.
"""

from collections.abc import Iterator, Mapping

from ...core.tensor import StoredTensor
from .declared import Declared
from .decoding import Holds, Modules, Sheet, StoredModule

_ASIDE = {
    "scale": Holds.SCALES,
    "scale_q": Holds.SCALES,
    "zero": Holds.ZERO_POINTS,
    "zero_q": Holds.ZERO_POINTS,
    "zero_scale": Holds.ZERO_POINTS,
    "meta_scale": Holds.SCALES,
}
_SETTINGS = frozenset(
    """axis channel_wise compute_dtype encoded_state_dict group_size nbits offload_meta optimize
    packing quant_scale quant_zero round_zero shape stores_quant_config unpack_view_dtype
    view_as_float max_int min_max meta""".split()
)
#: Bits -> rows in one stored row.
_ROWS = {8: 1, 4: 2, 3: 10, 2: 4, 1: 8}


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Every module with a ``W_q``."""
    claimed = list(dict.fromkeys(_claimed(declared.values, 3)))
    for module in modules.values():
        packed = module.get("W_q")
        if packed is None:
            continue
        name = module.full("weight")
        fits = {
            (bits, total)
            for bits, group in claimed or [(bits, None) for bits in _ROWS]
            for total in [_total(packed, module, bits, group)]
            if total is not None
        }
        if len(fits) == 1:
            bits, total = fits.pop()
            sheet.weight(packed, name, total, bits, f"{bits}-bit")
        else:
            why = f"{packed.dtype} {packed.shape} and its scales fit {len(fits)} ways"
            sheet.unknown(packed, name, why)
        for suffix, tensor in module.tensors.items():
            if suffix in _ASIDE:
                sheet.aside(tensor, name, _ASIDE[suffix])
            elif suffix in _SETTINGS:
                sheet.aside(tensor, name, Holds.TABLES)


def _claimed(value: object, depth: int) -> Iterator[tuple[int, int | None]]:
    """(bits, group size) of every ``weight_quant_params``; each layer may have its own."""
    if not isinstance(value, Mapping) or depth < 0:
        return
    bits = value.get("nbits")
    group = value.get("group_size")
    if type(bits) is int and bits in _ROWS:
        yield bits, group if type(group) is int and group > 0 else None
        return
    for inner in list(value.values())[:1_000]:
        yield from _claimed(inner, depth - 1)


def _total(packed: StoredTensor, module: StoredModule, bits: int, group: int | None) -> int | None:
    """Weights in ``packed`` at these bits, None where shapes or scales do not allow it."""
    if len(packed.shape) != 2 or packed.dtype not in ("U8", "I32", "I16", "F16", "BF16", "F32"):
        return None
    if (packed.dtype == "I32") != (bits == 3):
        return None
    width = packed.nbytes // packed.elements if packed.elements else 1
    rows, columns = packed.shape
    if bits != 3:
        columns *= width  # view_as_float shows the bytes as words of another dtype
    scale = module.get("scale")
    groups = scale.elements if scale is not None else None
    by_row = groups if groups is not None and -(-groups // _ROWS[bits]) == rows else None
    if by_row is not None and group in (None, columns):
        return by_row * columns if bits == 3 or by_row == rows * _ROWS[bits] else None
    if group is not None and groups == columns and -(-group // _ROWS[bits]) == rows:
        return group * columns
    if groups is None and bits != 3:
        return rows * _ROWS[bits] * columns
    return None
