"""Floats as bytes: which are not finite, and whether all are zero, without numpy.

A float is not finite exactly if its exponent is all ones, which shows in its top byte, or in its
top two. So one slice takes the top bytes of a chunk, ``bytes.translate`` marks the candidates, and
only where there is one are the second bytes looked at, all at once, as one large integer.

Formats: IEEE 754 for F64, F32, F16; bfloat16 is the upper half of F32; "FP8 Formats for Deep
Learning" (arXiv 2209.05433) for F8_E4M3 (no infinity, one NaN pattern) and F8_E5M2; the FNUZ
variants (arXiv 2206.02915) have one NaN, 0x80; F8_E8M0 (OCP MX 1.0) has one, 0xFF.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class FloatKind(NamedTuple):
    """``size`` in bytes, little-endian; tables that mark top and second bytes of what is not
    finite; ``mantissa`` is the mask whose zero means infinity, 0 where there are only NaNs."""

    size: int
    top: bytes
    second: bytes | None
    mantissa: int


def _table(test: Callable[[int], bool]) -> bytes:
    return bytes(test(byte) for byte in range(256))


_ALL_ONES = _table(lambda byte: byte & 0x7F == 0x7F)
_FIVE_BITS = _table(lambda byte: byte & 0x7C == 0x7C)
_HIGH_BIT = _table(lambda byte: byte >= 0x80)
_HIGH_FOUR = _table(lambda byte: byte >= 0xF0)
_F32 = FloatKind(4, _ALL_ONES, _HIGH_BIT, 0x007FFFFF)
_F64 = FloatKind(8, _ALL_ONES, _HIGH_FOUR, 0x000FFFFFFFFFFFFF)
_FNUZ = FloatKind(1, _table(lambda byte: byte == 0x80), None, 0)

#: dtype -> how its floats look; complex numbers are two floats.
FLOATS = {
    "F64": _F64,
    "F32": _F32,
    "C64": _F32,
    "C128": _F64,
    "BF16": FloatKind(2, _ALL_ONES, _HIGH_BIT, 0x007F),
    "F16": FloatKind(2, _FIVE_BITS, None, 0x03FF),
    "F8_E5M2": FloatKind(1, _FIVE_BITS, None, 0x03),
    "F8_E4M3": FloatKind(1, _ALL_ONES, None, 0),
    "F8_E4M3FNUZ": _FNUZ,
    "F8_E5M2FNUZ": _FNUZ,
    "F8_E8M0": FloatKind(1, _table(lambda byte: byte == 0xFF), None, 0),
}


def marks(kind: FloatKind, data: bytes) -> bytes:
    """One byte an element, 1 where it is not finite; empty if all are finite.

    ``data`` holds whole elements.
    """
    top = data[kind.size - 1 :: kind.size].translate(kind.top)
    if b"\x01" not in top:
        return b""
    if kind.second is None:
        return top
    second = data[kind.size - 2 :: kind.size].translate(kind.second)
    both = int.from_bytes(top, "little") & int.from_bytes(second, "little")
    return both.to_bytes(len(top), "little") if both else b""


def is_nan(kind: FloatKind, item: bytes) -> bool:
    """Whether an element that is not finite is a NaN, not an infinity."""
    return not kind.mantissa or bool(int.from_bytes(item, "little") & kind.mantissa)


@dataclass
class ValueScan:
    """What the bytes of one tensor hold, fed piece by piece.

    ``count`` elements are not finite, the first of them at index ``first`` (in the order of the
    file), ``nan`` says whether that one is a NaN. ``zero`` stays True while all bytes are zero.
    """

    kind: FloatKind | None
    count: int = 0
    first: int = -1
    nan: bool = False
    zero: bool = True
    elements: int = 0
    rest: bytes = b""

    def feed(self, data: bytes) -> None:
        if self.zero and data.strip(b"\x00"):
            self.zero = False
        kind = self.kind
        if kind is None or (self.zero and not self.rest):
            # Zeros are finite; a piece of them still counts its elements.
            if kind is not None:
                length = len(data) - len(data) % kind.size
                self.elements += length // kind.size
                self.rest = data[length:]
            return
        if self.rest:
            data = self.rest + data
        length = len(data) - len(data) % kind.size
        self.rest = data[length:]
        piece = data[:length] if self.rest else data
        marked = marks(kind, piece)
        if marked:
            if self.first < 0:
                at = marked.index(1)
                self.first = self.elements + at
                self.nan = is_nan(kind, piece[at * kind.size : (at + 1) * kind.size])
            self.count += marked.count(1)
        self.elements += length // kind.size
