"""The header as the safetensors library writes it, without a space, read in one go.

Most of what decoding JSON costs are the objects of each entry, of which five texts are needed. A
header that is of this form to the last character is exactly what the decoder would make of it; any
other one is left to that.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ...core.tensor import StoredForm

#: A whole number that fits into 64 bits without a look at it, as JSON has it.
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,18})"
#: The content of a string without escapes. (What is no UTF-8 is no text.)
_TEXT: Final = r'[^"\\\x00-\x1f]*'

#: What stands between two entries, and within one between the name and the rest.
_NEXT: Final = ']},"'
_NAMED: Final = '":{"dtype":"'
#: The rest up to its offsets. Of 100,000 tensors a dozen: only these are matched.
_FORM = re.compile(rf'({_TEXT})","shape":\[((?:{_NUMBER}(?:,{_NUMBER})*)?)\],"data_offsets":')
#: What no name of this form has, next to the quotes and backslashes.
_CONTROLS: Final = bytes(range(32))

_METADATA = re.compile(rf'\{{"__metadata__":(\{{(?:"{_TEXT}":"{_TEXT}"(?:,(?=")|(?=\}})))*\}}),')
_PADDED = re.compile("(?<![0-9])0[0-9]")


class Compact(NamedTuple):
    """The JSON text of the metadata, None where there is none, and columns of all entries. Each
    form is the one text of the dtype and shape that it means; ``in_order`` says that each tensor
    begins where the one before it ends, the first one at 0."""

    metadata: str | None
    names: list[str]
    forms: list[str]
    meaning: dict[str, StoredForm]
    starts: list[int]
    stops: list[int]
    in_order: bool


def compact_header(data: bytes) -> Compact | None:
    """What a header says; None for one of another form, be it that it is broken.

    It is taken apart at what all entries have, which loses nothing; each piece is then judged.
    """
    try:
        text = data.decode().rstrip(" ")
    except UnicodeDecodeError:
        return None
    metadata = None
    match = _METADATA.match(text)
    if match is not None:
        metadata = match[1]
        text = "{" + text[match.end() :]
    if text[:2] != '{"' or text[-3:] != "]}}":
        return None
    entries = [entry.partition(_NAMED) for entry in text[2:-3].split(_NEXT)]
    names = [name for name, _, _ in entries]
    rests = [rest.rpartition("[") for _, _, rest in entries]
    forms = [form for form, _, _ in rests]
    meaning = _meaning(set(forms))
    offsets = _offsets([places for _, _, places in rests])
    if meaning is None or offsets is None or not _are_plain(names):
        return None
    return Compact(metadata, names, forms, meaning, *offsets)


def _are_plain(names: list[str]) -> bool:
    text = "".join(names)
    encoded = text.encode()
    return not (
        '"' in text or "\\" in text or len(encoded.translate(None, _CONTROLS)) < len(encoded)
    )


def _meaning(forms: Iterable[str]) -> dict[str, StoredForm] | None:
    meaning: dict[str, StoredForm] = {}
    for form in forms:
        match = _FORM.fullmatch(form)
        if match is None:
            return None
        sizes = match[2].split(",") if match[2] else ()
        meaning[form] = match[1], tuple(map(int, sizes))
    return meaning


def _offsets(texts: list[str]) -> tuple[list[int], list[int], bool] | None:
    """Where tensors begin and end, and whether in order, from texts of two numbers each."""
    joined = ",;,".join(texts)
    numbers = joined.split(",")
    starts = numbers[::3]
    stops = numbers[1::3]
    if len(numbers) != 3 * len(texts) - 1 or set(numbers[2::3]) - {";"}:
        return None
    # Nearly every tensor begins where the one before it ends, and only the first one at 0.
    follow = starts[1:] == stops[:-1]
    digits = "".join([*stops, *(starts[:1] if follow else starts)])
    if not (digits.isascii() and digits.isdecimal()):
        return None
    if (",0" in joined or joined[:1] == "0" != starts[0]) and _PADDED.search(joined):
        return None
    try:
        ends = list(map(int, stops))
        begins = [int(starts[0]), *ends[:-1]] if follow else list(map(int, starts))
    except ValueError:  # an empty one, or more digits than Python takes
        return None
    if max(max(begins), max(ends)) >= 10**19:
        return None
    return begins, ends, follow and not begins[0]
