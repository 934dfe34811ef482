"""JSON of foreign origin: bounded in nesting, refused where Python is laxer than other readers.

``json`` accepts NaN, reads ``-0`` as an int, lets lone surrogates through and follows nesting as
deep as the interpreter can. Whoever wrote the other readers of these files (serde_json in the
safetensors library) refuses all that; so do we, without paying for it on ordinary headers.

Objects are decoded as tuples of pairs, arrays as lists: that keeps duplicate keys visible and costs
nothing (the hook is a C type).
"""

import json
import math
import re

from ..core.collector import collector_paused
from ..core.nesting import MAX_NESTING, NestingError, check_text

#: Headers longer than this are looked at for bombs before they are decoded. Below it the worst
#: case of one small Python object for every other byte is bearable.
DENSITY_CHECKED_FROM = 8 * 1024 * 1024

#: The least number of bytes per value in such a header: the shortest real entry,
#: ``"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},``, takes 52 bytes for 8 separators.
MIN_BYTES_PER_VALUE = 5

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_NEGATIVE_ZERO = re.compile(rb"-0(?![0-9.eE])")


class StrictJsonError(ValueError):
    """Why a text is not acceptable JSON; ``rule`` is a stable name, the message is for people."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule = rule


def decode_pairs(data: bytes) -> object:
    """The value of a JSON text in UTF-8: objects as tuples of (key, value), arrays as lists.

    Raises StrictJsonError with the rules ``utf8``, ``not-json``, ``nesting``, ``too-many-values``.
    """
    check_density(data)
    try:
        check_text(data, MAX_NESTING)
    except NestingError as error:
        raise StrictJsonError("nesting", str(error)) from None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise StrictJsonError("utf8", f"is not UTF-8 at byte {error.start:,}") from None
    exact = _NEGATIVE_ZERO.search(data) is not None
    decoder = _EXACT_DECODER if exact else _DECODER
    try:
        with collector_paused():
            value = decoder.decode(text)
        if b"\\" in data and _SURROGATE_ESCAPE.search(data):
            check_values(value)
    except StrictJsonError:
        raise
    except RecursionError:  # the caller has used up the stack
        raise StrictJsonError("nesting", "is nested deeper than the stack that is left") from None
    except json.JSONDecodeError as error:
        what = f"is not JSON: {error.msg[0].lower()}{error.msg[1:]} at character {error.pos:,}"
        raise StrictJsonError("not-json", what) from None
    except ValueError:
        # Integers of more digits than sys.set_int_max_str_digits allows; far beyond any float.
        raise StrictJsonError("not-json", "holds a number out of range") from None
    return value


def check_values(value: object) -> None:
    """Refuse what serde_json refuses anywhere in a text: deep nesting, numbers beyond a float,
    lone surrogates. Raises StrictJsonError. Iterative, so that depth cannot exhaust the stack."""
    todo: list[tuple[object, int]] = [(value, 1)]
    while todo:
        item, depth = todo.pop()
        if isinstance(item, (tuple, list)):
            if depth > MAX_NESTING:
                raise StrictJsonError("nesting", f"is nested deeper than {MAX_NESTING}")
            if isinstance(item, tuple):
                for key, inner in item:
                    _check_text(key)
                    todo.append((inner, depth + 1))
            else:
                todo.extend((inner, depth + 1) for inner in item)
        elif isinstance(item, str):
            _check_text(item)
        elif isinstance(item, (int, float)):
            _check_number(item)


def plain(value: object) -> object:
    """Decoded pairs as dicts, the last of equal keys counting. Call ``check_values`` first: this
    follows the nesting with the stack."""
    if isinstance(value, tuple):
        return {key: plain(item) for key, item in value}
    return [plain(item) for item in value] if isinstance(value, list) else value


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise StrictJsonError("not-json", "holds half of a surrogate pair") from None


def _check_number(number: float) -> None:
    try:
        finite = math.isfinite(number)
    except OverflowError:
        finite = False
    if not finite:
        raise StrictJsonError("not-json", "holds a number out of range")


def check_density(data: bytes) -> None:
    """Refuse a long text that is no list of tensors. Raises StrictJsonError."""
    if len(data) <= DENSITY_CHECKED_FROM:
        return
    values = data.count(b",") + data.count(b"[") + data.count(b"{")
    if values > len(data) // MIN_BYTES_PER_VALUE:
        raise StrictJsonError(
            "too-many-values", f"holds {values:,} values in {len(data):,} bytes, no list of tensors"
        )


def _refuse_constant(name: str) -> object:
    raise StrictJsonError("not-json", f"holds {name}, which is not JSON")


def _exact_int(digits: str) -> float:
    # serde_json takes -0 for a float, which is no size.
    return -0.0 if digits == "-0" else int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_refuse_constant)
_EXACT_DECODER = json.JSONDecoder(
    object_pairs_hook=tuple, parse_constant=_refuse_constant, parse_int=_exact_int
)
