"""The key-values of a GGUF header: read in passing, kept only as far as anybody needs them.

A tokenizer's arrays make up most of a header (tens of megabytes); of a long array only its type,
length and first items are kept, and of the types of tokens where they stand.
"""

import math
import struct

from ...errors import FormatError, LimitError
from ..finding_list import FindingList
from ..window import Cursor

#: A key is at most 65,535 bytes by the specification.
MAX_KEY_BYTES = 65_535
#: Real files have some fifty.
MAX_KEYS = 65_536
#: Numbers of an array that are kept: enough for one value of each layer.
MAX_KEPT_NUMBERS = 1_024
#: Texts of an array that are kept: tags, languages, data sets.
MAX_KEPT_TEXTS = 64
#: Of longer arrays, the first so many.
FIRST_ITEMS = 8
#: Chat templates and licences are below 64 KiB.
MAX_TEXT_BYTES = 64 * 1024
#: All that is kept of one header.
MAX_KEPT_BYTES = 8 * 1024 * 1024
#: Arrays inside arrays; llama.cpp writes none.
MAX_NESTING = 8

#: Arrays of which a long one is said to stand at a byte, for whoever counts or looks up its items.
TYPES_KEY = "tokenizer.ggml.token_type"
TOKENS_KEY = "tokenizer.ggml.tokens"
ADDED_KEY = "tokenizer.ggml.added_tokens"

_STRING = 8
_ARRAY = 9
_BOOL = 7
#: Value type -> (name, struct code); sizes follow from the code.
_SCALARS = {
    0: ("uint8", "B"),
    1: ("int8", "b"),
    2: ("uint16", "H"),
    3: ("int16", "h"),
    4: ("uint32", "I"),
    5: ("int32", "i"),
    6: ("float32", "f"),
    7: ("bool", "B"),
    10: ("uint64", "Q"),
    11: ("int64", "q"),
    12: ("float64", "d"),
}


class ValueReader:
    """Reads strings, numbers and typed values at a cursor, in one byte order ("<" or ">")."""

    def __init__(self, path: str, cursor: Cursor, order: str, out: FindingList) -> None:
        self.path = path
        self.cursor = cursor
        self.order = order
        self._out = out
        self._bytes_taken = 0
        self._u32 = struct.Struct(order + "I")
        self._u64 = struct.Struct(order + "Q")

    def u32(self) -> int:
        return int(self._u32.unpack(self.cursor.take(4))[0])

    def u64(self) -> int:
        return int(self._u64.unpack(self.cursor.take(8))[0])

    def malformed(self, problem: str, rule: str) -> FormatError:
        return FormatError(self.path, problem, rule=rule, where=f"byte {self.cursor.position}")

    def counted(self, what: str, limit: int, smallest: int) -> int:
        """A number of things to come, of at least ``smallest`` bytes each: bounded before use."""
        count = self.u64()
        if count > limit:
            raise LimitError(
                self.path,
                f"{what} is {count:,}",
                expected=f"at most {limit:,}",
                where=f"byte {self.cursor.position - 8}",
            )
        remaining = self.cursor.remaining()
        if remaining is not None and count * smallest > remaining:
            raise self.cursor.truncated(count * smallest)
        return count

    def text(self, what: str, limit: int) -> str:
        """A string that has to be known in full."""
        raw = self.cursor.take(self.counted(f"the length of {what}", limit, 1))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self._out.add("not-utf8", f"{what} is not UTF-8: {raw[:80]!r}")
            return raw.decode("utf-8", "backslashreplace")

    def value(self, key: str) -> object:
        """One typed value: a number, a bool, a text, a list, or what is kept of a long array.

        The latter is ``{"array": type, "length": n, "first": [...]}``.
        """
        kind = self.u32()
        if kind == _STRING:
            return self._text(key)
        if kind == _ARRAY:
            return self._array(key, 0)
        return self._numbers(self._scalar(kind, key), 1)[0]

    def _scalar(self, kind: int, key: str) -> str:
        if kind not in _SCALARS:
            raise self.malformed(
                f"{key!a:.200} has the unknown value type {kind}", "gguf-value-type"
            )
        return "?" if kind == _BOOL else _SCALARS[kind][1]

    def _numbers(self, code: str, count: int) -> list[object]:
        layout = struct.Struct(f"{self.order}{count}{code}")
        self._keep(layout.size)
        return [_plain(item) for item in layout.unpack(self.cursor.take(layout.size))]

    def _text(self, key: str) -> str:
        length = self.u64()
        size = min(length, MAX_TEXT_BYTES)
        self._keep(size)
        text = self.cursor.take(size).decode("utf-8", "backslashreplace")
        if length > size:
            self.cursor.skip(length - size)
            text_of = f"{key!a:.200} holds a text of {length:,} bytes, kept are {size:,}"
            self._out.add("long-text", text_of, None, "note")
        return text

    def _keep(self, nbytes: int) -> None:
        self._bytes_taken += nbytes
        if self._bytes_taken > MAX_KEPT_BYTES:
            raise LimitError(
                self.path,
                "its key-values are too large",
                expected=f"at most {MAX_KEPT_BYTES:,} bytes",
            )

    def _array(self, key: str, depth: int) -> object:
        if depth >= MAX_NESTING:
            raise LimitError(
                self.path, f"{key!a:.200} nests arrays", expected=f"{MAX_NESTING} deep"
            )
        self._keep(64)  # what an empty list takes
        kind = self.u32()
        # The limit is that of the whole header: an item takes at least a byte.
        if kind == _STRING:
            count = self.counted(f"the length of {key!a:.200}", 2**40, 8)
            listed = count if count <= MAX_KEPT_TEXTS else FIRST_ITEMS
            start = self.cursor.position
            items: list[object] = [self._text(key) for _ in range(listed)]
            self._skip_texts(count - listed)
            texts = _array_value("string", count, items)
            if isinstance(texts, dict) and key in (TOKENS_KEY, ADDED_KEY):
                return {**texts, "at": start, "end": self.cursor.position}
            return texts
        if kind == _ARRAY:
            count = self.counted(f"the length of {key!a:.200}", MAX_KEPT_NUMBERS, 12)
            return [self._array(key, depth + 1) for _ in range(count)]
        code = self._scalar(kind, key)
        size = struct.calcsize(self.order + code)
        count = self.counted(f"the length of {key!a:.200}", 2**40, size)
        listed = count if count <= MAX_KEPT_NUMBERS else FIRST_ITEMS
        place = {"at": self.cursor.position} if key == TYPES_KEY else {}
        items = self._numbers(code, listed)
        self.cursor.skip((count - listed) * size)
        value = _array_value(_SCALARS[kind][0], count, items)
        return {**value, **place} if isinstance(value, dict) else value

    def _skip_texts(self, count: int) -> None:
        """Pass over strings: a tokenizer has hundreds of thousands, so this loop is kept tight."""
        cursor = self.cursor
        unpack = self._u64.unpack_from
        while count:
            buffer = cursor.buffer
            at = cursor.at
            end = len(buffer) - 8
            while count and at <= end:
                after = at + 8 + unpack(buffer, at)[0]
                if after > len(buffer):
                    break
                at = after
                count -= 1
            cursor.at = at
            if count:
                cursor.skip(self.u64())
                count -= 1


def _plain(value: object) -> object:
    """JSON has no infinity and no NaN; they are spelled out."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _array_value(kind: str, count: int, items: list[object]) -> object:
    return items if len(items) == count else {"array": kind, "length": count, "first": items}
