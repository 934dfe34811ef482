"""The weights at another width than they are stored in.

Widths of a whole number of bits hold every parameter in them (a quantisation's scales come on top
and are not known before it is made). GGML's block types hold matrices whole rows at a time, scales
included; vectors and routers stay in float32, and matrices whose rows are no whole blocks are F16,
as ``llama-quantize --pure`` makes them. Buffers stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ..core.components import Component, Role
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..core.tensor_copies import Copies
from ..errors import UsageError
from ..formats.gguf.ggml_types import GGML_TYPES, GgmlType

#: Bits of each parameter.
BITS: Final = {
    "f32": 32, "fp32": 32, "float32": 32, "f16": 16, "fp16": 16, "float16": 16, "bf16": 16,
    "bfloat16": 16, "fp8": 8, "int8": 8, "fp4": 4, "int4": 4,
}  # fmt: skip
_BLOCKS: Final = {
    kind.name.lower(): kind
    for kind in GGML_TYPES.values()
    if kind.block > 1 and kind.name not in ("Q8_1", "Q8_K")
}
_F16: Final = GgmlType("F16", 1, 2)


def checked_width(name: str) -> str:
    """A width that is known, in small letters. Raises UsageError."""
    found = name.lower()
    if found not in BITS and found not in _BLOCKS:
        known = ", ".join([*BITS, *_BLOCKS])
        raise UsageError(f"width {name!r}", "is unknown", expected=known)
    return found


def at_width(found: Inspection, width: str) -> Inspection:
    """The same model with every parameter at this width. Raises UsageError where the parameters of
    a tensor are not known."""

    def changed(tensors: Iterable[TensorInfo]) -> list[TensorInfo]:
        return [_at_width(tensor, width) for tensor in tensors]

    held = found.tensors
    tensors: Sequence[TensorInfo] = (
        held.each(changed) if isinstance(held, Copies) else tuple(changed(held))
    )
    counted = (
        tensors.counted() if isinstance(tensors, Copies) else ((tensor, 1) for tensor in tensors)
    )
    nbytes = sum((tensor.nbytes or 0) * count for tensor, count in counted)
    return replace(found, tensors=tensors, nbytes=nbytes, beyond=())


def _at_width(tensor: TensorInfo, width: str) -> TensorInfo:
    if tensor.beyond is not None or tensor.tied_to is not None:
        return tensor._replace(nbytes=0, beyond=None)
    if tensor.role is not Role.PARAMETER:
        # Scales and zero points of a packing are no part of another one.
        kept = tensor.nbytes if tensor.role is Role.BUFFER else 0
        return tensor._replace(nbytes=kept)
    if tensor.parameters is None:
        raise UsageError(f"width {width}", f"needs the parameters of {tensor.name}, not known")
    if width in BITS:
        return tensor._replace(nbytes=-(-tensor.parameters * BITS[width] // 8))
    shape = tensor.shape
    if tensor.parameters != tensor.elements:
        raise UsageError(f"width {width}", f"needs the shape of {tensor.name}, which is packed")
    if len(shape) < 2 or tensor.component is Component.ROUTER:
        return tensor._replace(nbytes=4 * tensor.elements)
    kind = _BLOCKS[width]
    return tensor._replace(nbytes=(_F16 if shape[-1] % kind.block else kind).stored_bytes(shape))
