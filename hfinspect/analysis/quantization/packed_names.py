"""Names and dtypes that only packed modules have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

#: Last segments of names that only packed modules have, by the methods that write them.
_PACKED: Final = tuple(
    "qweight qzeros weight_packed absmax quant_map SCB weight_scale_inv weight_scale "
    "weight_scale_2 W_q codebooks codes weight_zero_point".split()
)
_PACKED_ENDINGS: Final = ("_blocks", "_scale_inv", "_weight_scale")
_SMALL_DTYPES: Final = ("U8", "I8", "I32", "U32", "F4")

#: Methods whose checkpoints are packed; with others the loader packs plain weights itself.
MUST_BE_PACKED: Final = frozenset({"gptq", "awq", "compressed-tensors", "modelopt", "mxfp4", "fp8"})


def is_packed(name: str, dtype: str | None, shape: Sequence[int]) -> bool:
    """Whether only a packed module has a tensor of this name, or of this dtype and shape."""
    last = name.rpartition(".")[2]
    return (
        last in _PACKED
        or last.endswith(_PACKED_ENDINGS)
        or ".quant_state." in name
        or ((dtype or "").startswith("F8_") and len(shape) > 1)
    )


def is_small(dtype: str | None, shape: Sequence[int]) -> bool:
    """Whether it is a matrix of integers or of four bits, which no plain weight is."""
    return dtype in _SMALL_DTYPES and len(shape) > 1
