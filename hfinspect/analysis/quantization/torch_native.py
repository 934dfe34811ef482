"""PyTorch's own quantised dtypes, as pickles keep them: the tensor, and next to it, below its name,
``scales`` and ``zero_points`` of a tensor that is quantised channel by channel.

Source: torch/_utils.py (``_rebuild_qtensor``) and c10/core/ScalarType.h.
"""

from .declared import Declared
from .decoding import Holds, Modules, Sheet

#: Dtype -> (weights in one element of the shape, bits of each). The shape of quantised tensors
#: counts weights, that of the others bytes.
TORCH_PACKED = {
    "QINT8": (1, 8),
    "QUINT8": (1, 8),
    "QINT32": (1, 32),
    "QUINT4X2": (1, 4),
    "QUINT2X4": (1, 2),
    "FLOAT4_E2M1FN_X2": (2, 4),
    "BITS1X8": (8, 1),
    "BITS2X4": (4, 2),
    "BITS4X2": (2, 4),
}

_ASIDE = {"scales": Holds.SCALES, "zero_points": Holds.ZERO_POINTS}


def read(modules: Modules, _declared: Declared, sheet: Sheet) -> None:
    """Every tensor of these dtypes, and what lies below its name."""
    packed: set[str] = set()
    for module in modules.values():
        for tensor in module.tensors.values():
            layout = TORCH_PACKED.get(tensor.dtype)
            if layout is not None:
                each, bits = layout
                parameters = tensor.elements * each
                sheet.weight(tensor, tensor.name, parameters, bits, tensor.dtype.lower())
                packed.add(tensor.name)
    for name in packed & modules.keys():
        for suffix, tensor in modules[name].tensors.items():
            if suffix in _ASIDE:
                sheet.aside(tensor, name, _ASIDE[suffix])
