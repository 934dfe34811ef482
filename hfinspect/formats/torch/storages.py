"""What a PyTorch pickle describes: storages, and tensors that are views of them."""

from typing import NamedTuple

from ...core.extents import Extent
from ...core.tensor import DTYPE_BITS, TORCH_DTYPES

#: Bytes per element of torch dtypes that safetensors has no name for (torch/storage.py and
#: c10/core/ScalarType.h); they are reported under torch's name in capitals.
OTHER_ITEM_BYTES = {
    "qint8": 1,
    "quint8": 1,
    "qint32": 4,
    "quint4x2": 1,
    "quint2x4": 1,
    "complex32": 4,
    "float4_e2m1fn_x2": 1,
    "bits8": 1,
    "bits16": 2,
    "bits1x8": 1,
    "bits2x4": 1,
    "bits4x2": 1,
    **{f"{sign}int{bits}": 1 for sign in ("", "u") for bits in range(1, 8)},
}

#: Names of typed storages (torch/storage.py, ``_dtype_to_storage_type_map``).
STORAGE_DTYPES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    "QInt8Storage": "qint8",
    "QInt32Storage": "qint32",
    "QUInt8Storage": "quint8",
    "QUInt4x2Storage": "quint4x2",
    "QUInt2x4Storage": "quint2x4",
}


#: Elements of a byte in tensors whose shape counts elements, not bytes: each row takes whole bytes
#: (aten/src/ATen/quantized/QTensorImpl.h and c10's ``get_sub_byte_tensor_size``).
PER_BYTE = {"QUINT4X2": 2, "QUINT2X4": 4}


class TorchDtype(NamedTuple):
    """A torch dtype: its name in reports and the bytes of one element of a storage.

    ``known`` is False for a name that no table here has.
    """

    name: str
    item_bytes: int
    known: bool = True


def torch_dtype(name: str) -> TorchDtype | None:
    """A dtype by torch's name ("float32", "qint8"); None for an unknown one."""
    known = TORCH_DTYPES.get(name)
    if known is not None:
        return TorchDtype(known, DTYPE_BITS[known] // 8)
    item_bytes = OTHER_ITEM_BYTES.get(name)
    return None if item_bytes is None else TorchDtype(name.upper(), item_bytes)


class Storage(NamedTuple):
    """A flat piece of memory in the file: ``key`` names it there, ``nbytes`` is its declared size.

    ``base`` is where it begins inside the memory of that key, in bytes: not 0 only for the storage
    views that files before PyTorch 1.6 may hold.
    """

    key: str
    dtype: TorchDtype
    nbytes: int
    base: int = 0
    location: str = ""


class View:
    """A tensor: a shape laid over a storage. ``offset`` and ``stride`` are in elements.

    ``storage`` is None for a tensor without data (device "meta"). ``parameter`` marks a
    Parameter from a plain tensor, where the file says so. A dtype that packs several elements into
    a byte, or is not known, takes all of its storage.
    """

    __slots__ = ("dtype", "offset", "parameter", "shape", "storage", "stride")

    def __init__(
        self,
        storage: Storage | None,
        dtype: TorchDtype,
        offset: int,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        parameter: bool = False,
    ) -> None:
        self.storage = storage
        self.dtype = dtype
        self.offset = offset
        self.shape = shape
        self.stride = stride
        self.parameter = parameter

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def span(self) -> tuple[int, int]:
        """First and last byte (half-open) that the view reaches in the memory of its key."""
        base = self.storage.base if self.storage else 0
        if self.packed_bytes is not None:
            return base, base + self.packed_bytes
        start = base + self.offset * self.dtype.item_bytes
        if not self.elements:
            return start, start
        reach = sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))
        return start, start + (reach + 1) * self.dtype.item_bytes

    @property
    def packed_bytes(self) -> int | None:
        """Bytes of a tensor whose elements are not ``item_bytes`` each; None for any other."""
        if not self.dtype.known and self.storage is not None:
            return self.storage.nbytes
        per_byte = PER_BYTE.get(self.dtype.name)
        if per_byte is None:
            return None
        columns = self.shape[-1] if self.shape else 1
        return self.elements // columns * -(-columns // per_byte) if self.elements else 0

    @property
    def nbytes(self) -> int:
        """Bytes it takes in the file: not more than its span, where it repeats elements."""
        if self.packed_bytes is not None:
            return self.packed_bytes
        extent = self.extent
        if extent is not None and extent.nbytes is not None:
            return extent.nbytes
        start, stop = self.span
        return min(self.elements * self.dtype.item_bytes, stop - start)

    @property
    def extent(self) -> Extent | None:
        """The bytes of the storage that it consists of: the dimensions from the fastest on, merged
        where one continues another. None for a tensor without data or elements."""
        if self.storage is None or not self.elements:
            return None
        if self.packed_bytes is not None:
            return Extent(self.storage.key, self.span[0], self.packed_bytes)
        steps = [(1, self.dtype.item_bytes)]
        item = self.dtype.item_bytes
        for step, n in sorted((s * item, n) for s, n in zip(self.stride, self.shape, strict=True)):
            if n == 1 or step == 0:
                continue
            last_step, last_n = steps[-1]
            if step == last_step * last_n:
                steps[-1] = (last_step, last_n * n)
            else:
                steps.append((step, n))
        return Extent(self.storage.key, self.span[0], steps[0][1], tuple(steps[1:]))


class Compound:
    """One tensor that a file stores as several (sparse, nested, a quantised subclass)."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: str, parts: dict[object, object]) -> None:
        self.kind = kind
        self.parts = parts
