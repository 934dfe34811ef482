"""Weights that keep their name and come with scales: FP8 (per tensor, per channel, in blocks),
FBGEMM FP8, ModelOpt's FP8, NVFP4, MXFP4 and INT4, int8 with scales, Quark.

One-byte floats have one weight an element. Four-bit floats are either of the dtype F4, whose header
already counts weights, or pairs in bytes: NVFP4 with a scale (F8_E4M3) for 16 weights, MXFP4 with a
scale (F8_E8M0, or its bytes) for 32. So the scales show whether bytes hold one weight or two.
Experts that are fused to one tensor have ``gate_up_proj`` and ``gate_up_proj_scale_inv``.
"""

from collections.abc import Sequence

from ...core.tensor import DTYPE_BITS, StoredTensor
from .declared import Declared
from .decoding import Holds, Modules, Sheet, StoredModule
from .read_modules import read_modules

_SCALES = frozenset(
    """weight_scale weight_scale_inv weight_scale_2 weight_global_scale weight_scales scale_inv
    input_scale input_scale_ub input_global_scale activation_scale output_scale pre_quant_scale
    q_scale k_scale v_scale kv_scale prob_scale qscale_weight qscale_act weight_scale_ub
    scale_weight scale_input""".split()
)
#: What ComfyUI's files say of themselves in tensors: the dtype, or the format as JSON.
_MARKERS = frozenset({"scaled_fp8", "comfy_quant"})
_ZERO_POINTS = frozenset(
    """weight_zero_point input_zero_point output_zero_point q_zero_point k_zero_point
    v_zero_point""".split()
)
#: Endings of a fused tensor's bookkeeping, longest first: gate_up_proj_weight_scale_2.
_ENDINGS = tuple(
    """_weight_scale_inv _weight_scale_2 _weight_scale _weight_global_scale _input_global_scale
    _input_scale _activation_scale _scale_inv _scale_2 _global_scale _scales _scale""".split()
)
_WEIGHT_SCALES = tuple(
    "weight_scale weight_scale_inv scale scale_inv qscale_weight scale_weight".split()
)
_FUSED_SCALES = ("_weight_scale", "_weight_scale_inv", "_scale", "_scale_inv", "_scales")

_FLOATS = {
    "F8_E4M3": "FP8",
    "F8_E5M2": "FP8",
    "F8_E4M3FNUZ": "FP8",
    "F8_E5M2FNUZ": "FP8",
    "F6_E2M3": "FP6",
    "F6_E3M2": "FP6",
    "F4": "FP4",
}
_BYTES = frozenset({"I8", "U8"})
_QUANTIZED = frozenset({*_FLOATS, *_BYTES})


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Every module with a weight of one of these dtypes, and all scales."""
    read_modules(modules, sheet, lambda module, to: read_module(module, declared, to))


def read_floats(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Only the dtypes that say themselves how many weights there are, for methods not known."""
    for module in modules.values():
        weight = module.get("weight")
        if weight is not None and weight.dtype in _FLOATS:
            read_module(module, declared, sheet)


def read_module(module: StoredModule, declared: Declared, sheet: Sheet) -> None:
    """One module: its ``weight``, its fused weights, and their bookkeeping."""
    tensors = module.tensors
    weight = tensors.get("weight")
    packed = weight is not None and weight.dtype in _QUANTIZED
    if weight is not None and packed:
        read_weight(weight, weight.name, module.get(*_WEIGHT_SCALES), declared, sheet)
    # Where no config says that anything is quantised, a name alone is no reason to discount.
    is_quantized = packed or bool(declared.method)
    for suffix, tensor in tensors.items():
        if (suffix in _SCALES and (is_quantized or _is_cache_scale(suffix, tensor))) or (
            suffix == "scale" and packed
        ):
            sheet.aside(tensor, module.full("weight"), Holds.SCALES)
        elif suffix in _MARKERS:
            sheet.aside(tensor, module.full("weight"), Holds.TABLES)
        elif suffix in _ZERO_POINTS and is_quantized:
            sheet.aside(tensor, module.full("weight"), Holds.ZERO_POINTS)
        elif suffix.endswith(_ENDINGS):
            _read_fused(module, suffix, tensor, declared, sheet)


def _is_cache_scale(suffix: str, tensor: StoredTensor) -> bool:
    """One factor for the keys, values or queries of an attention."""
    return suffix in ("q_scale", "k_scale", "v_scale", "prob_scale") and tensor.elements == 1


def _read_fused(
    module: StoredModule, suffix: str, tensor: StoredTensor, declared: Declared, sheet: Sheet
) -> None:
    """Bookkeeping ``tensor`` of a sibling that is named without ``.weight``, and that sibling."""
    for ending in _ENDINGS:
        stem = suffix.removesuffix(ending)
        weight = module.tensors.get(stem) if stem != suffix else None
        if weight is None or weight.dtype not in _QUANTIZED:
            continue
        scale = module.get(*(stem + end for end in _FUSED_SCALES))
        read_weight(weight, weight.name, scale, declared, sheet)
        sheet.aside(tensor, weight.name, Holds.SCALES)
        return


def read_weight(
    weight: StoredTensor, name: str, scale: StoredTensor | None, declared: Declared, sheet: Sheet
) -> None:
    """A weight of a one-byte or smaller dtype, by its scale."""
    scheme = _FLOATS.get(weight.dtype)
    if scheme is not None:
        if weight.dtype == "F4" and scale is not None:
            scheme = _four_bit_scheme(weight.elements, scale) or scheme
        elif scale is not None and _has_exponents_of_32(weight.elements, scale):
            scheme = "MXFP8"
        sheet.weight(weight, name, weight.elements, DTYPE_BITS[weight.dtype], scheme)
        _check_blocks(weight, scale, declared, sheet)
        return
    if scale is None:
        sheet.unknown(weight, name, f"{weight.dtype} without a scale may hold anything")
        return
    scheme = _four_bit_scheme(2 * weight.elements, scale)
    if scheme is not None:
        sheet.weight(weight, name, 2 * weight.elements, 4, scheme)
    elif _has_exponents_of_32(weight.elements, scale):
        sheet.weight(weight, name, weight.elements, 8, "MXFP8")
    elif _pairs_of_rows(weight, scale):
        sheet.weight(weight, name, 2 * weight.elements, 4, "INT4")
    elif weight.dtype == "I8" and _fits_one_each(weight.shape, scale):
        sheet.weight(weight, name, weight.elements, 8, "INT8")
    else:
        text = f"{weight.dtype} {weight.shape} with scales {scale.dtype} {scale.shape}"
        sheet.unknown(weight, name, f"{text} does not match any known layout")


def _four_bit_scheme(weights: int, scale: StoredTensor) -> str | None:
    """NVFP4 or MXFP4, if the scale is one of ``weights`` four-bit floats."""
    if scale.dtype == "F8_E4M3" and scale.elements * 16 == weights:
        return "NVFP4"
    return "MXFP4" if _has_exponents_of_32(weights, scale) else None


def _has_exponents_of_32(weights: int, scale: StoredTensor) -> bool:
    """Whether each 32 weights share an exponent of one byte."""
    return scale.dtype in ("U8", "F8_E8M0") and scale.elements * 32 == weights


def _pairs_of_rows(weight: StoredTensor, scale: StoredTensor) -> bool:
    """ModelOpt's INT4: bytes (out/2, in) with scales (out, groups)."""
    return (
        weight.dtype == "U8"
        and len(weight.shape) >= 2
        and len(scale.shape) == len(weight.shape)
        and scale.dtype in ("F32", "F16", "BF16")
        and scale.shape[-2] == 2 * weight.shape[-2]
        and scale.shape[:-2] == weight.shape[:-2]
        and scale.shape[-1] > 0
        and weight.shape[-1] % scale.shape[-1] == 0
    )


def _fits_one_each(shape: Sequence[int], scale: StoredTensor) -> bool:
    """Whether a scale in float is one for all, for each row, for groups of a row, or for blocks of
    a matrix; so that a byte is one weight."""
    if scale.dtype not in ("F32", "F16", "BF16"):
        return False
    if scale.elements == 1:
        return True
    sizes = list(scale.shape)
    if len(sizes) == len(shape) - 1 or (len(sizes) == 1 and len(shape) == 2):
        return sizes == list(shape[: len(sizes)])
    return len(sizes) == len(shape) and all(
        0 < part <= size for part, size in zip(sizes, shape, strict=True)
    )


def _check_blocks(
    weight: StoredTensor, scale: StoredTensor | None, declared: Declared, sheet: Sheet
) -> None:
    """Block scales against ``weight_block_size``: ceil(out / b0) by ceil(in / b1)."""
    blocks = declared.values.get("weight_block_size")
    if scale is None or len(scale.shape) != 2 or len(weight.shape) != 2:
        return
    if not (isinstance(blocks, list) and len(blocks) == 2):
        return
    if not all(type(size) is int and size > 0 for size in blocks) or scale.elements == 1:
        return
    expected = tuple(-(-size // by) for size, by in zip(weight.shape, blocks, strict=True))
    if tuple(scale.shape) != expected and scale.shape[1] != 1:
        text = f"{scale.name} is {scale.shape} where blocks of {blocks} make {expected}"
        sheet.note("quantization-mismatch", text, scale.name)
