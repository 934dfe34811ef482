"""A model with every parameter at so many bits: limits for weights whose dtypes are not known.

No packing is so small (scales come on top), and no float is wider than 32 bits. Buffers stay as
they are, scales and zero points are left out.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..core.components import Role
from ..core.lazy_sequence import counted
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..core.tensor_copies import mapped

#: Bits by the names of ``Inspection.memory``.
BITS: Final = {"float32": 32, "16-bit": 16, "int8": 8, "int4": 4}


def at_bits(inspection: Inspection, bits: int) -> Inspection | None:
    """None where the parameters of a tensor are not known."""
    if inspection.parameters is None:
        return None
    tensors = mapped(inspection.tensors, lambda tensor: _at_bits(tensor, bits))
    return with_tensors(inspection, tensors)


def with_tensors(inspection: Inspection, tensors: Sequence[TensorInfo]) -> Inspection:
    """The same model of these tensors, all of which are the class's own, and their bytes."""
    nbytes = sum((tensor.nbytes or 0) * count for tensor, count in counted(tensors))
    return replace(inspection, tensors=tensors, nbytes=nbytes, extra_tensors=())


def _at_bits(tensor: TensorInfo, bits: int) -> TensorInfo:
    if tensor.extra_kind is not None or tensor.tied_to is not None:
        return tensor._replace(nbytes=0, extra_kind=None)
    if tensor.role is not Role.PARAMETER:
        return tensor._replace(nbytes=tensor.nbytes if tensor.role is Role.BUFFER else 0)
    return tensor._replace(nbytes=-(-(tensor.parameters or 0) * bits // 8))
