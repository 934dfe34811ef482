"""How deep texts and values are nested: looked at before anything that recurses.

Python's own decoder of JSON recurses in C. Depending on the version it stops after 1,000 levels,
goes on for 10,000, or follows them to the end of the stack, and a page's Python (WebAssembly) dies
there. So the levels of a text are counted before it is decoded, without recursion.
"""

import json
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final

#: serde_json counts down from 128 and refuses at zero, so 127 containers may enclose each other.
#: Real files have less than 20 levels.
MAX_NESTING: Final = 127

#: Deeper than any config (real ones have less than 20 levels), and shallow enough for what recurses
#: over it: copying takes two frames a level, of the thousand that Python has.
MAX_CONFIG_DEPTH: Final = 64

#: JSON that nests begins so.
_CONTAINER: Final = re.compile(rb"[ \t\r\n]*[\[{]")
_NO_MARKS: Final = bytes(set(range(256)) - set(b'[]{}"'))
_STRING: Final = re.compile(rb'"[^"]*"?')
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
#: Innermost brackets are removed so many times before the rest is counted one by one: the header of
#: a checkpoint, nearly all of whose brackets belong to its tensors' entries, is done in two.
_ROUNDS: Final = 4


class NestingError(ValueError):
    """A text or a value is nested deeper than it may be."""

    def __init__(self, levels: int, most: int) -> None:
        super().__init__(f"is nested {levels:,} levels deep, expected at most {most}")
        #: In these words an error says it.
        self.found = f"is nested {levels:,} levels deep"
        self.expected = f"at most {most} levels"


def loads(data: bytes | str, most: int = MAX_NESTING, **options: Any) -> Any:
    """``json.loads`` of a text with at most ``most`` levels; ``options`` are those of json.loads.

    Raises ValueError for what is no JSON, and NestingError, which is one.
    """
    encoding = "" if isinstance(data, str) else json.detect_encoding(data)
    text = data if isinstance(data, str) else data.decode(encoding)
    check_text(data if encoding == "utf-8" else text, most)
    try:
        return json.loads(text, **options)
    except RecursionError:  # the caller has used up the stack
        raise ValueError("is nested deeper than the stack that is left") from None


def check_text(data: bytes | str, most: int) -> None:
    """Raises NestingError for JSON of more than ``most`` levels. Bytes are UTF-8.

    A text that is no JSON may be refused too; what is not refused, no decoder follows deeper.
    """
    opening = ("[", "{") if isinstance(data, str) else (b"[", b"{")
    if data.count(opening[0]) + data.count(opening[1]) <= most:  # type: ignore[arg-type]
        return
    text = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if _CONTAINER.match(text) is None:  # a page of HTML, say
        return
    brackets = rest = _brackets(text)
    for _ in range(min(_ROUNDS, most // 2)):  # each removes two levels at most
        rest = rest.replace(b"[]", b"").replace(b"{}", b"")
    if rest and (levels := _levels(brackets)) > most:
        raise NestingError(levels, most)


def _brackets(text: bytes) -> bytes:
    """The brackets outside strings. Every step is a pass in C."""
    if b"\\" in text:
        # Pairs from left to right: what is left before a quote escapes it.
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Two quotes next to each other, of one string or of two, leave the rest inside or outside.
    marks = text.translate(None, _NO_MARKS).replace(b'""', b"")
    return _STRING.sub(b"", marks) if b'"' in marks else marks


def _levels(brackets: bytes) -> int:
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def check_value(value: object, most: int) -> None:
    """Raises NestingError for mappings and sequences of more than ``most`` levels in each other,
    which may contain themselves."""
    levels = 0
    level = {id(value): value} if isinstance(value, (Mapping, list, tuple)) else {}
    while level:
        levels += 1
        if levels > most:
            raise NestingError(levels, most)
        inside = (inner for item in level.values() for inner in _items(item))
        level = {id(item): item for item in inside if isinstance(item, (Mapping, list, tuple))}


def _items(item: Any) -> Any:
    return item.values() if isinstance(item, Mapping) else item
