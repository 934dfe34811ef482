"""The opcodes of pickle that push numbers, text and bytes.

Source: ``Lib/pickletools.py`` of CPython 3.13.
"""

import re

from .nodes import Inert
from .state import MAX_LONG_BYTES, MAX_NUMBER_TEXT, OpcodeHandler, PickleState, registrar

#: By the opcode's byte.
LITERALS: dict[int, OpcodeHandler] = {}
_opcode = registrar(LITERALS)


#: What a number in text can be made of, in any base.
_NUMERIC = re.compile(rb"[\s+\-0-9a-fA-FxXoOlL_.]*")
#: C's base 0, which the unpickler in C uses for INT; Python's int() refuses it.
_OCTAL = re.compile(rb"\s*[+-]?0[0-7]+\s*")


def whole_number(m: PickleState, text: bytes, base: int = 10) -> int:
    try:
        return int(text, base)
    except ValueError:
        if base == 0 and _OCTAL.fullmatch(text):
            raise m.unfollowed("a number is octal to one unpickler and none to another") from None
        raise m.malformed("a number is not one") from None


def number_line(m: PickleState) -> bytes:
    return m.line(MAX_NUMBER_TEXT, _NUMERIC.fullmatch)


@_opcode(b"I")
def _int(m: PickleState) -> None:
    text = number_line(m)
    m.push(
        {b"00": False, b"01": True}[text] if text in (b"00", b"01") else whole_number(m, text, 0)
    )


@_opcode(b"F")
def _float(m: PickleState) -> None:
    try:
        m.push(float(number_line(m)))
    except ValueError:
        raise m.malformed("a number is not one") from None


def _push_long(m: PickleState, length: int) -> None:
    if length < 0:
        raise m.malformed("an integer of negative length")
    if length > MAX_LONG_BYTES:
        if m.more is not None:
            m.skip(length)  # where the file ends before, this is no integer at all
        raise m.limit("an integer of so many bytes", MAX_LONG_BYTES)
    m.push(int.from_bytes(m.take(length), "little", signed=True))


# -- text and bytes ---------------------------------------------------------------------------

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.DOTALL)
_SIMPLE = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
    b"\n": b"",
    b"\\": b"\\",
    b"'": b"'",
    b'"': b'"',
}


def _unescape(match: re.Match[bytes]) -> bytes:
    what = match[1]
    if what[:1] == b"x" and len(what) == 3:
        return bytes([int(what[1:], 16)])
    if what[:1].isdigit() and what[:1] < b"8":
        return bytes([int(what, 8) & 0xFF])
    return _SIMPLE.get(what, match[0])


def old_text(raw: bytes) -> str:
    """Python 2's str: bytes of no known encoding."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


@_opcode(b"S")
def _string(m: PickleState) -> None:
    raw = m.line().rstrip()
    if len(raw) < 2 or raw[:1] != raw[-1:] or raw[:1] not in (b"'", b'"'):
        raise m.malformed("text is not quoted")
    m.push(old_text(_ESCAPE.sub(_unescape, raw[1:-1])))


@_opcode(b"T")
def _binstring(m: PickleState) -> None:
    length = m.i4()
    if length < 0:
        raise m.malformed("text of negative length")
    m.push(old_text(m.take(length)))


@_opcode(b"V")
def _unicode(m: PickleState) -> None:
    try:
        m.push(m.line().decode("raw-unicode-escape"))
    except UnicodeDecodeError:
        raise m.malformed("text has a broken escape") from None


@_opcode(b"\x98")
def _readonly_buffer(m: PickleState) -> None:
    m.top()


LITERALS |= {
    ord("N"): lambda m: m.push(None),  # NONE
    0x88: lambda m: m.push(True),  # NEWTRUE
    0x89: lambda m: m.push(False),  # NEWFALSE
    # numbers
    ord("L"): lambda m: m.push(whole_number(m, number_line(m).removesuffix(b"L"), 0)),  # LONG
    ord("G"): lambda m: m.push(m.f8()),  # BINFLOAT
    ord("J"): lambda m: m.push(m.i4()),  # BININT
    ord("K"): lambda m: m.push(m.u1()),  # BININT1
    ord("M"): lambda m: m.push(m.u2()),  # BININT2
    0x8A: lambda m: _push_long(m, m.u1()),  # LONG1
    0x8B: lambda m: _push_long(m, m.i4()),  # LONG4
    # text
    ord("U"): lambda m: m.push(old_text(m.take(m.u1()))),  # SHORT_BINSTRING
    ord("X"): lambda m: m.push(m.text(m.take(m.u4()))),  # BINUNICODE
    0x8C: lambda m: m.push(m.text(m.take(m.u1()))),  # SHORT_BINUNICODE
    0x8D: lambda m: m.push(m.text(m.take(m.u8()))),  # BINUNICODE8
    # bytes
    ord("B"): lambda m: m.push(m.take(m.u4())),  # BINBYTES
    ord("C"): lambda m: m.push(m.take(m.u1())),  # SHORT_BINBYTES
    0x8E: lambda m: m.push(m.take(m.u8())),  # BINBYTES8
    0x96: lambda m: m.push(m.take(m.u8())),  # BYTEARRAY8
    0x97: lambda m: m.push(Inert("buffer outside the pickle")),  # NEXT_BUFFER
}
