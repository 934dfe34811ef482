"""Raw arrays that joblib writes between the opcodes of a pickle, by the header in front of each.

Source: joblib/numpy_pickle.py, ``NumpyArrayWrapper``: after BUILD of the wrapper its reader takes
``shape`` times the item size of ``dtype`` from the file, after one byte that says how many bytes of
padding follow (since joblib 1.1, where ``numpy_array_alignment_bytes`` is there). An array of
objects is a pickle of its own in this place.
"""

import re
from typing import NamedTuple

from .nodes import GlobalRef, Inert

ARRAY_WRAPPERS = frozenset(
    (module, "NumpyArrayWrapper")
    for module in ("joblib.numpy_pickle", "sklearn.externals.joblib.numpy_pickle")
)
#: NumPy's own limit is 64; it was 32 before version 2.
MAX_DIMENSIONS = 64
#: NumPy keeps sizes as int64.
MAX_BYTES = 2**62
#: Fields of a record, with those of the records in it; sklearn's trees have eight.
MAX_FIELDS = 256

#: Numbers, times, text, bytes: kind and size in bytes (or characters of four bytes).
DTYPE_NAME = re.compile(r"[|<>=]?(?P<kind>[biufcmMSUVO])(?P<size>\d{1,9})", re.ASCII)
_NUMBERS = "biufcmM"
#: A state that says nothing about the size: numbers have that of their name.
_FIELDS = 4
_ITEM_SIZE = 5


class ArrayLayout(NamedTuple):
    """``nbytes`` of raw numbers, or a pickle where ``is_object``; ``padded`` as joblib aligns."""

    nbytes: int
    is_object: bool
    padded: bool


class ItemType(NamedTuple):
    size: int
    has_objects: bool


def array_layout(state: object) -> ArrayLayout | None:
    """How an array lies in the file; None where its header is not one that joblib writes."""
    if not isinstance(state, dict):
        return None
    shape = state.get("shape")
    item = item_type(state.get("dtype"))
    if item is None or not isinstance(shape, tuple) or len(shape) > MAX_DIMENSIONS:
        return None
    count = 1
    for length in shape:
        if type(length) is not int or length < 0:
            return None
        count *= length
        if count > MAX_BYTES:
            return None
    padded = state.get("numpy_array_alignment_bytes") is not None
    return ArrayLayout(count * item.size, item.has_objects, padded)


def item_type(dtype: object) -> ItemType | None:
    """The item size of a dtype, and whether it or a field of it is of objects."""
    pending = [dtype]
    size = None
    has_objects = False
    for _ in range(MAX_FIELDS):
        if not pending:
            return None if size is None else ItemType(size, has_objects)
        one_type = _one_type(pending.pop())
        if one_type is None:
            return None
        item, inner = one_type
        size = item.size if size is None else size
        has_objects |= item.has_objects
        pending += inner[:MAX_FIELDS]
    return None


def _one_type(dtype: object) -> tuple[ItemType, list[object]] | None:
    """``numpy.dtype("f8", False, True)`` with the state that BUILD gave it, and what it holds."""
    if not isinstance(dtype, Inert) or not isinstance(dtype.target, GlobalRef):
        return None
    if (dtype.target.module, dtype.target.name) != ("numpy", "dtype") or not dtype.args:
        return None
    match = DTYPE_NAME.fullmatch(dtype.args[0]) if isinstance(dtype.args[0], str) else None
    if match is None or len(dtype.parts) > 1:
        return None
    kind = match["kind"]
    size = int(match["size"]) * (4 if match["kind"] == "U" else 1)
    if kind in _NUMBERS:
        return ItemType(size, False), []
    if kind == "O":
        return ItemType(8, True), []
    state = dtype.parts[0] if dtype.parts else None
    if not isinstance(state, tuple) or len(state) <= _ITEM_SIZE or state[_ITEM_SIZE] != size:
        return None
    inner = _inside(state)
    return None if inner is None else (ItemType(size, False), inner)


def _inside(state: tuple[object, ...]) -> list[object] | None:
    """The dtypes that a record or a subarray consists of, one level down."""
    subarray = state[2]
    fields = state[_FIELDS]
    inner: list[object] = []
    if isinstance(subarray, tuple) and subarray:
        inner.append(subarray[0])
    elif subarray is not None:
        return None
    if isinstance(fields, dict):
        inner += [item[0] if isinstance(item, tuple) and item else None for item in fields.values()]
    elif fields is not None:
        return None
    return inner
