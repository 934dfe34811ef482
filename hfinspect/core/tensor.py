"""Tensors: as stored in a file, as expected from a config, and as reported.

``StoredTensor`` is what a format reader finds in a header: facts, no judgement.
``TensorSpec`` is what an architecture's tree predicts.
``TensorInfo`` is what a report shows: a stored or expected tensor with its labels.

These are NamedTuples, not dataclasses: a checkpoint may hold 500,000 of them.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

from .components import Component, Role
from .extents import Extent

#: Bits per element by dtype name as safetensors spells them (safetensors/src/tensor.rs, 0.8), plus
#: the ones only other formats have. Used for expected sizes; observed sizes come from offsets.
DTYPE_BITS = {
    name: bits
    for bits, names in (
        (128, ("C128",)),
        (64, ("F64", "I64", "U64", "C64")),
        (32, ("F32", "I32", "U32")),
        (16, ("F16", "BF16", "I16", "U16")),
        (8, ("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I8", "U8", "BOOL")),
        (6, ("F6_E2M3", "F6_E3M2")),
        (4, ("F4",)),
    )
    for name in names
}

#: Names of torch dtypes (config.json, pickles) in the spelling of safetensors.
TORCH_DTYPES = {
    "float64": "F64",
    "double": "F64",
    "float32": "F32",
    "float": "F32",
    "float16": "F16",
    "half": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "int64": "I64",
    "long": "I64",
    "int32": "I32",
    "int": "I32",
    "int16": "I16",
    "short": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
    "complex64": "C64",
    "complex128": "C128",
}


def nbytes_of(dtype: str | None, elements: int) -> int | None:
    """Bytes of ``elements`` values of ``dtype``, packed and rounded up; None for an unknown one."""
    bits = DTYPE_BITS.get(dtype) if dtype else None
    return None if bits is None else (elements * bits + 7) // 8


#: Dtype and shape of tensors.
StoredForm: TypeAlias = tuple[str, tuple[int, ...]]


class StoredTensor(NamedTuple):
    """One tensor as a file's header describes it.

    ``shape`` is that of the header (row-major). ``elements`` is the number of elements that the
    header declares, ``nbytes`` the span it occupies in the file. ``offset`` is absolute in the
    file, None where the format does not say it without reading further. ``storage`` says which
    bytes of which storage these are, for formats whose tensors may share them: two tensors of a
    file with equal, non-None storage are views of the same bytes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    elements: int
    nbytes: int
    offset: int | None = None
    storage: Extent | None = None


class Packed(NamedTuple):
    """What a tensor of a quantised module holds.

    Fields:
        parameters [parameters]: logical ones, 0 for bookkeeping
        holds: weights, scales, zero points or tables
        bits [bits]: of each parameter; None if that is not a whole number
        scheme: the packing, by its name
        varies [bytes]: how many more than those of the shape it may take, where the data decide
    """

    parameters: int
    holds: str
    bits: int | None = None
    scheme: str = ""
    varies: int = 0


class TensorSpec(NamedTuple):
    """One tensor that an architecture says should be there.

    Fields:
        name: as in the file that a save writes
        shape [elements along each axis]: as in that file, row-major
        component: embedding, attention, mlp, ...
        role: ``parameter``, ``buffer`` or ``quantization`` (its bookkeeping)
        part: ``text``, ``vision``, ``audio``, ...
        stack: dotted name of the list of layers that it is in
        layer [index, from 0]: of its stack; None outside of layers
        kind: its function: ``query``, ``gate``, ``lm_head``, ...
        dtype: only where the architecture fixes it (buffers); the config's applies otherwise
        tied_to: the tensor that a save keeps in place of this one
        saved: False for what a save leaves out but files on the Hub may hold: old causal masks,
            rotary inv_freq, layers for multi-token prediction
        active [tensors]: (k, n): k of n such tensors are used per token; None for all
        packed: what it holds if it is part of a quantised module; shape and dtype are then those of
            the file
    """

    name: str
    shape: tuple[int, ...]
    component: Component
    role: Role = Role.PARAMETER
    part: str = "text"
    stack: str | None = None
    layer: int | None = None
    kind: str = ""
    dtype: str | None = None
    tied_to: str | None = None
    saved: bool = True
    active: tuple[int, int] | None = None
    packed: Packed | None = None

    @property
    def parameters(self) -> int:
        """Elements if this is a parameter (unpacked where it is packed), else 0."""
        if self.role is not Role.PARAMETER:
            return 0
        return self.elements if self.packed is None else self.packed.parameters

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count


#: Why a tensor is next to its class's parameters: multi-token prediction; what transformers knows
#: and neither loads nor saves; a name that the class does not have.
BeyondKind: TypeAlias = Literal["mtp", "unloaded", "unexpected"]

#: Key of a tensor's JSON form -> the field or property that it has, in their order.
TENSOR_KEYS: Final = {
    "beyond" if name == "extra_kind" else name: name
    for name in "name shape dtype parameters elements nbytes component kind role part stack layer "
    "file tied_to view_of shared_nbytes extra_kind".split()
}


class TensorInfo(NamedTuple):
    """One tensor of an inspection, with its labels.

    Fields:
        name: as in the file
        shape [elements along each axis]: as stored, row-major
        dtype: in safetensors' spelling; None if unknown
        parameters [parameters]: logical ones: unpacked, 0 for buffers and bookkeeping; None where
            the packing is unknown
        component: embedding, attention, mlp, ...
        layer [index, from 0]: of its stack; None outside of layers
        file: the file that holds it; None for a predicted one
        tied_to: the tensor that it is counted with; None if it counts itself
        elements [elements]: stored
        nbytes [bytes]: stored; None where the dtype is unknown
        role: ``parameter``, ``buffer`` or ``quantization`` (its bookkeeping)
        part: ``text``, ``vision``, ``audio``, ...
        stack: dotted name of the list of layers that it is in
        kind: its function: ``query``, ``gate``, ``lm_head``, ...
        active [tensors]: (k, n): k of n such tensors are used per token; None for all
        view_of: the tensor of the same file whose bytes it consists of, wholly or in part
        shared [elements, bytes]: counted with ``view_of``; None for none
        extra_kind: why the class does not define it (a kind of ``Beyond``); None if it does
    """

    name: str
    shape: tuple[int, ...]
    dtype: str | None
    parameters: int | None
    component: Component
    layer: int | None = None
    file: str | None = None
    tied_to: str | None = None
    elements: int = 0
    nbytes: int | None = None
    role: Role = Role.PARAMETER
    part: str = "text"
    stack: str | None = None
    kind: str = ""
    active: tuple[int, int] | None = None
    view_of: str | None = None
    shared: tuple[int, int] | None = None
    extra_kind: BeyondKind | None = None

    @property
    def own_elements(self) -> int:
        """Elements that are counted with this tensor."""
        return self.elements - (self.shared[0] if self.shared else 0)

    @property
    def own_nbytes(self) -> int | None:
        """Bytes that are counted with this tensor: those of a shared storage count once."""
        return None if self.nbytes is None else self.nbytes - self.shared_nbytes

    @property
    def shared_nbytes(self) -> int:
        """Bytes that are counted with another tensor: the total is the sum of ``nbytes`` without
        these."""
        return self.shared[1] if self.shared else 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, with all labels."""
        form = {key: getattr(self, name) for key, name in TENSOR_KEYS.items()}
        shape = [int(size) for size in self.shape]
        return {**form, "shape": shape, "component": str(self.component), "role": str(self.role)}
