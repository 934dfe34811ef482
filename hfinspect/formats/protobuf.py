"""Chosen fields of a protocol buffer, by walking its wire format; all else is passed over unread.

Format: protobuf.dev/programming-guides/encoding. A message is a row of fields, each a tag (number
and wire type) and a value; what is no number says how many bytes it takes.
"""

from collections.abc import Iterator, Mapping

from ..errors import FormatError, LimitError
from .window import Cursor

#: Field number -> the fields wanted of the message that it holds, or the name of what is wanted.
Wanted = Mapping[int, "Wanted | str"]

#: Fields of one file that are walked over; a graph of 100,000 nodes has about 2 million.
MAX_FIELDS = 4_000_000
#: Messages inside messages.
MAX_DEPTH = 64
#: A text that is wanted: the name of an operator, a path.
MAX_VALUE_BYTES = 64 * 1024

_VARINT = 0
_FIXED64 = 1
_BYTES = 2
_GROUP = 3
_END_GROUP = 4
_FIXED32 = 5


class _ProtobufWalk:
    def __init__(self, path: str, cursor: Cursor) -> None:
        self.path = path
        self.cursor = cursor
        self.left = MAX_FIELDS

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.cursor.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift >= 70:
                raise self.malformed("a number goes on past ten bytes")

    def malformed(self, problem: str) -> FormatError:
        where = f"byte {self.cursor.position:,}"
        return FormatError(self.path, problem, rule="protobuf", where=where)

    def message(self, stop: int, names: Wanted, depth: int) -> Iterator[tuple[str, bytes]]:
        if depth > MAX_DEPTH:
            raise LimitError(self.path, "nests messages", expected=f"{MAX_DEPTH} deep")
        while self.cursor.position < stop:
            number, kind = self._tag()
            if kind == _BYTES:
                yield from self._value(stop, names.get(number), depth)
            elif not self._passed_over(number, kind, stop, depth):
                raise self.malformed(f"a field has the wire type {kind}")
        if self.cursor.position != stop:
            raise self.malformed("a field runs past its message")

    def _tag(self) -> tuple[int, int]:
        """The number and the wire type of the next field, one of those that are allowed."""
        self.left -= 1
        if self.left < 0:
            raise LimitError(self.path, "has too many fields", expected=f"{MAX_FIELDS:,}")
        return divmod(self.varint(), 8)

    def _passed_over(self, number: int, kind: int, stop: int, depth: int) -> bool:
        """A number or a group is passed over; False for other wire types."""
        if kind == _VARINT:
            self.varint()
        elif kind in (_FIXED64, _FIXED32):
            self.cursor.skip(8 if kind == _FIXED64 else 4)
        elif kind == _GROUP:
            self._pass_group(number, stop, depth + 1)
        else:
            return False
        return True

    def _pass_group(self, number: int, stop: int, depth: int) -> None:
        """An unknown group, which readers pass over as any other field that they do not know."""
        if depth > MAX_DEPTH:
            raise LimitError(self.path, "nests groups", expected=f"{MAX_DEPTH} deep")
        while self.cursor.position < stop:
            inner, kind = self._tag()
            if kind == _END_GROUP and inner == number:
                return
            if kind == _BYTES:
                self.cursor.skip(self.varint())
            elif not self._passed_over(inner, kind, stop, depth):
                raise self.malformed(f"a field of a group has the wire type {kind}")
        raise self.malformed("a group does not end")

    def _value(
        self, stop: int, field: Wanted | str | None, depth: int
    ) -> Iterator[tuple[str, bytes]]:
        length = self.varint()
        end = self.cursor.position + length
        if end > stop:
            raise self.malformed("a field runs past its message")
        if field is None:
            self.cursor.skip(length)
        elif isinstance(field, str):
            size = min(length, MAX_VALUE_BYTES)
            value = self.cursor.take(size)
            self.cursor.skip(length - size)
            yield field, value
        else:
            yield from self.message(end, field, depth + 1)


def fields(path: str, cursor: Cursor, size: int, names: Wanted) -> Iterator[tuple[str, bytes]]:
    """(name, value) of every wanted field of the file, in order.

    A value longer than MAX_VALUE_BYTES is cut. Raises FormatError and LimitError.
    """
    return _ProtobufWalk(path, cursor).message(size, names, 0)
