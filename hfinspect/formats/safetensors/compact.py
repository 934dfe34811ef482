"""The header as the safetensors library writes it, without a space, read in one go.

Most of what decoding JSON costs are the objects of each entry, of which five texts are needed. A
header that is of this form to the last character is exactly what the decoder would make of it; any
other one is left to that.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

#: A whole number that fits into 64 bits without a look at it, as JSON has it.
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,18})"
#: The content of a string without escapes. (What is no UTF-8 is no text.)
_TEXT: Final = r'[^"\\\x00-\x1f]*'

_ENTRY = re.compile(
    rf'(?:\A\{{|,)"({_TEXT})":\{{"dtype":"({_TEXT})","shape":\[([0-9,]*)\],'
    rf'"data_offsets":\[({_NUMBER}),({_NUMBER})\]\}}'
)
#: What each entry has next to what varies.
_FIXED: Final = len(',"":{"dtype":"","shape":[],"data_offsets":[,]}')

_METADATA = re.compile(rf'\{{"__metadata__":(\{{(?:"{_TEXT}":"{_TEXT}"(?:,(?=")|(?=\}})))*\}}),')
_SIZES = re.compile(rf"(?:{_NUMBER}(?:,{_NUMBER})*)?")


class Compact(NamedTuple):
    """The JSON text of the metadata, None where there is none, and columns of all entries."""

    metadata: str | None
    names: list[str]
    dtypes: list[str]
    shapes: list[tuple[int, ...]]
    starts: list[int]
    stops: list[int]


def compact_header(data: bytes) -> Compact | None:
    """What a header says; None for one of another form, be it that it is broken."""
    try:
        text = data.decode().rstrip(" ")
    except UnicodeDecodeError:
        return None
    metadata = None
    match = _METADATA.match(text)
    if match is not None:
        metadata, text = match[1], "{" + text[match.end() :]
    rows = _ENTRY.findall(text)
    if not rows or text[-1] != "}":
        return None
    columns = list(zip(*rows, strict=True))
    # Entries that are as long as the text, but for its last character, are all that it holds.
    if sum(len("".join(column)) for column in columns) + _FIXED * len(rows) + 1 != len(text):
        return None
    names, dtypes, shape_texts, starts, stops = columns
    sizes = {shape: _sizes(shape) for shape in set(shape_texts)}
    if None in sizes.values():
        return None
    shapes = [sizes[shape] or () for shape in shape_texts]
    return Compact(
        metadata, list(names), list(dtypes), shapes, list(map(int, starts)), list(map(int, stops))
    )


def _sizes(text: str) -> tuple[int, ...] | None:
    if not _SIZES.fullmatch(text):
        return None
    return tuple(map(int, text.split(","))) if text else ()
