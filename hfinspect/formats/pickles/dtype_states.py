"""The state that BUILD gives a NumPy dtype, against the one that NumPy writes for its name.

``dtype.__setstate__`` believes the flags in its argument: a ``f8`` whose flags say that it holds
objects makes joblib unpickle what lies in place of its numbers, and an ``O8`` whose flags say that
it holds none makes NumPy take raw bytes for pointers. Source: numpy/_core/src/multiarray/
descriptor.c, ``arraydescr_setstate`` and ``arraydescr_reduce``.
"""

from typing import Final

from .arrays import DTYPE_NAME, item_type
from .nodes import GlobalRef, Inert

#: Where the state has them: version, byte order, subarray, names, fields, size, alignment, flags.
_LENGTHS: Final = range(5, 10)
_FLAGS: Final = 7
_ORDERS: Final = ("<", ">", "=", "|")
#: Of an element that is a Python object; numpy.dtype("O").flags.
_OBJECT: Final = 63
#: Text is filled with zeros.
_TEXT: Final = 8
#: The first bit says that elements hold references; 2 and 4 that they are pickled, or pointers.
_HOLDS: Final = 0b111
#: What a record may have: those of its fields, one of its own, and that it is aligned.
_OF_RECORDS: Final = 0b1001_1011
#: More than any dtype has.
_MOST: Final = 0xFF


def odd_dtype_state(target: Inert, state: object) -> str:
    """Why ``state`` is not what NumPy writes for a dtype; empty where it is, and for what is no
    dtype. ``target`` already has the state among its parts."""
    call = target.target
    if not isinstance(call, GlobalRef) or call.module.partition(".")[0] != "numpy":
        return ""
    if call.name.rpartition(".")[2] != "dtype" and not call.name.endswith("DType"):
        return ""
    if len(target.parts) > 1:
        return "its state is set twice"
    if not isinstance(state, tuple) or len(state) not in _LENGTHS:
        return "its state is not a tuple of five to nine"
    version, order, subarray, names, fields = state[:5]
    if type(version) is not int or order not in _ORDERS:
        return "its version or byte order is invalid"
    flags = state[_FLAGS] if len(state) > _FLAGS else None
    if flags is not None and (type(flags) is not int or not 0 <= flags <= _MOST):
        return f"flags {_shown(flags)}"
    name = target.args[0] if target.args else None
    match = DTYPE_NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:  # a class of its own (numpy.record, bfloat16), or a word
        return _of_record(target, flags) if fields is not None else _without_objects(flags)
    kind = match["kind"]
    if kind != "V" and (subarray, names, fields) != (None, None, None):
        return f"fields of a {kind}"
    if kind == "V":
        return _of_record(target, flags)
    usual = {"O": _OBJECT, "U": _TEXT}.get(kind, 0)
    return "" if flags in (None, usual) else f"flags {flags} of {name}, whose own are {usual}"


def _of_record(target: Inert, flags: int | None) -> str:
    if flags is None:
        return ""
    item = item_type(target)
    has_objects = item is not None and item.has_objects
    allowed = _OBJECT | _OF_RECORDS if has_objects else _OF_RECORDS & ~_HOLDS
    if flags & ~allowed or bool(flags & 1) != has_objects:
        return f"flags {flags} of fields that {'hold' if has_objects else 'hold no'} objects"
    return ""


def _without_objects(flags: int | None) -> str:
    return f"flags {flags}" if flags is not None and flags & _HOLDS else ""


def _shown(value: object) -> str:
    return str(value)[:40] if type(value) is int else "that are not a number"
