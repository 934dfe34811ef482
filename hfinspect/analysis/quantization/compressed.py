"""compressed-tensors: ``weight_packed`` next to ``weight_scale``, and all of ``scaled``.

Sources: compressed_tensors/compressors. pack-quantized: int32 words, in versions up to 0.13
(out, ceil(in / (32 // bits))), so that 3 bits waste two of each 32, later 32 values in as many
words as they have bits, the last ones padded. ``weight_shape`` has (out, in) as data, which no
header shows: the number of inputs follows from ``weight_g_idx`` (in), from groups of the config's
size, or, for 2, 4 and 8 bits, from the words. nvfp4-, mxfp4- and mxfp6-pack-quantized: bytes
(out, in · bits / 8).
"""

from collections.abc import Mapping

from ...core.tensor import StoredTensor
from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Holds, Modules, Sheet, StoredModule
from .modules_not_packed import check_saved_as_packed
from .packed_layout import PackedPlan
from .read_modules import read_modules
from .scaled_weights import read_module

_SPARSE = ("bitmask", "compressed", "row_offsets")
_TABLES = frozenset({"weight_shape", "weight_g_idx", "shape", *_SPARSE})

#: Bits whose words hold no waste; rows of other lengths than whole words are not seen for them.
_FULL = (1, 2, 4, 8)


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Every module that is packed or scaled."""
    claimed = _claimed(declared)

    def read_one(module: StoredModule, sheet: Sheet) -> None:
        packed = module.get("weight_packed")
        if packed is not None:
            _read_packed(module, packed, claimed, sheet)
        elif module.get("bitmask") is not None and module.get("compressed") is not None:
            _read_sparse(module, declared, sheet)
        read_module(module, declared, sheet)
        if packed is not None:
            for suffix in _TABLES & set(module.tensors):
                sheet.aside(module.tensors[suffix], module.full("weight"), Holds.TABLES)

    read_modules(modules, sheet, read_one, "weight")


def _claimed(declared: Declared) -> list[tuple[int, int | None]]:
    """(bits, group size) of every group of integers in the config; AutoRound has but one."""
    claims = []
    single = {"num_bits": declared.integer("bits"), "group_size": declared.integer("group_size")}
    for weights in (*declared.weight_schemes(), single):
        bits = weights.get("num_bits")
        group = weights.get("group_size")
        if type(bits) is int and 1 <= bits <= 8 and weights.get("type") in (None, "int"):
            claims.append((bits, group if type(group) is int and group > 0 else None))
    return list(dict.fromkeys(claims))


def _read_packed(
    module: StoredModule, packed: StoredTensor, claimed: list[tuple[int, int | None]], sheet: Sheet
) -> None:
    name = module.full("weight")
    if module.get("meta", "scale_packed") is not None:
        sheet.unknown(packed, name, "the sparse layout marlin-24 is not read")
        for suffix in ("meta", "scale_packed"):
            tensor = module.get(suffix)
            if tensor is not None:
                sheet.aside(tensor, name, Holds.TABLES)
        return
    scale = module.get("weight_scale")
    if packed.dtype == "U8":
        _read_small_floats(packed, name, scale, sheet)
        return
    if packed.dtype != "I32" or not packed.shape or not claimed:
        sheet.unknown(packed, name, f"{packed.dtype} words of bits that no config says")
        return
    columns = packed.shape[-1]
    rows = packed.elements // columns if columns else 0
    order = module.get("weight_g_idx")
    known = order.elements if order is not None and order.elements else None
    predicted = sheet.predicted(name)
    if known is None and predicted is not None and rows and predicted % rows == 0:
        known = predicted // rows
    fits = {
        (bits, inputs)
        for bits, group in claimed
        for inputs in [_inputs(columns, bits, group, scale, known)]
        if inputs is not None
    }
    if len(fits) == 1:
        bits, inputs = fits.pop()
        sheet.weight(packed, name, rows * inputs, bits, f"INT{bits}")
    else:
        shape = None if scale is None else scale.shape
        sheet.unknown(
            packed, name, f"{packed.shape} words with scales {shape} fit {len(fits)} ways"
        )


def _inputs(
    columns: int, bits: int, group: int | None, scale: StoredTensor | None, known: int | None
) -> int | None:
    """The number of inputs that fill ``columns`` words of ``bits``, None if that cannot be."""
    room = 32 // bits
    fits = {columns * room: range((columns - 1) * room + 1, columns * room + 1)}
    if columns % bits == 0:
        most = columns // bits * 32
        fits[most] = range(most - 31, most + 1)
    groups = scale.shape[-1] if scale is not None and scale.shape else 1
    if known is None and group is not None and any(groups * group in fit for fit in fits.values()):
        known = groups * group  # rows divide into whole groups
    if known is None and len(fits) == 1 and bits in _FULL:
        known = columns * room
    if known is None or not any(known in fit for fit in fits.values()):
        return None
    return known if group is None or -(-known // group) == groups else None


def _read_small_floats(
    packed: StoredTensor, name: str, scale: StoredTensor | None, sheet: Sheet
) -> None:
    weights = 2 * packed.elements
    if scale is not None and scale.dtype == "F8_E4M3" and scale.elements * 16 == weights:
        sheet.weight(packed, name, weights, 4, "NVFP4")
    elif _has_bytes_of_32(scale, weights):
        sheet.weight(packed, name, weights, 4, "MXFP4")
    elif packed.elements % 3 == 0 and _has_bytes_of_32(scale, packed.elements // 3 * 4):
        sheet.weight(packed, name, packed.elements // 3 * 4, 6, "MXFP6")
    else:
        shape = None if scale is None else (scale.dtype, scale.shape)
        sheet.unknown(
            packed, name, f"bytes {packed.shape} with scales {shape} do not match any known layout"
        )


def _has_bytes_of_32(scale: StoredTensor | None, weights: int) -> bool:
    return scale is not None and scale.dtype in ("U8", "F8_E8M0") and scale.elements * 32 == weights


def _read_sparse(module: StoredModule, declared: Declared, sheet: Sheet) -> None:
    """Values and a bitmask of which are zero: how many there were is data, not header."""
    inner = declared.section("sparsity_config").get("format")
    format_name = inner if isinstance(inner, str) else "sparse-bitmask"
    name = module.full("weight")
    for suffix in ("compressed", "bitmask", "row_offsets", "shape"):
        tensor = module.get(suffix)
        if tensor is None:
            continue
        if suffix == "compressed":
            sheet.unknown(tensor, name, f"the sparse layout {format_name[:40]} is not read")
        else:
            sheet.aside(tensor, name, Holds.TABLES)


def plan(declared: Declared, config: Mapping[str, object], prediction: Prediction) -> PackedPlan:
    """The inverse, which has a file of its own."""
    from .compressed_expected import plan as planned

    check_saved_as_packed(prediction, config)
    return planned(declared, prediction)
