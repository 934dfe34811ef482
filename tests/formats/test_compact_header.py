"""The quick way through a header says what decoding it says, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hfinspect.errors import FormatError
from hfinspect.formats.safetensors.compact import compact_header
from hfinspect.formats.safetensors.header import Header, _header_of, parse_header
from hfinspect.formats.strict_json import StrictJsonError, decode_pairs

from ..examples import examples

GOOD = (
    b'{"__metadata__":{"format":"pt","a":"b"},'
    b'"a.0.w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},'
    b'"b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]},'
    b'"\xc3\xa9":{"dtype":"I8","shape":[0],"data_offsets":[26,26]}}  '
)


def decoded(text: bytes) -> Header | None:
    """What the decoder of JSON makes of it; None where it is refused."""
    try:
        value = decode_pairs(text)
        return _header_of("f", value, 8 + len(text), text[:1]) if isinstance(value, tuple) else None
    except StrictJsonError:
        return None


def parsed(text: bytes) -> Header | None:
    try:
        return parse_header("f", text)
    except FormatError:
        return None


def test_a_header_of_the_library_takes_the_quick_way() -> None:
    compact = compact_header(GOOD)
    assert compact is not None
    assert compact.names == ["a.0.w", "b", "é"]
    assert [compact.meaning[form] for form in compact.forms] == [
        ("F32", (2, 3)),
        ("BF16", ()),
        ("I8", (0,)),
    ]
    assert (compact.starts, compact.stops) == ([0, 24, 26], [24, 26, 26])
    assert parsed(GOOD) == decoded(GOOD)


ENTRY = '"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        f"{{{ENTRY}",
        f"{{{ENTRY},}}",
        f"{{{ENTRY}}}}}",
        f"{{{ENTRY}}}\n",
        f"{{{ENTRY}{{{ENTRY}}}",
        f"{{,{ENTRY}}}",
        f"{{{ENTRY} }}",
        f'{{"x":1,{ENTRY}}}',
        f'{{{ENTRY},"__metadata__":{{}}}}',
        f'{{"__metadata__":null,{ENTRY}}}',
        f'{{"__metadata__":{{"a":1}},{ENTRY}}}',
        f'{{"__metadata__":{{"a":"b",}},{ENTRY}}}',
        f'{{"__metadata__":{{"a":"\\n"}},{ENTRY}}}',
        "{" + ENTRY.replace("F32", "F\\u0033") + "}",
        "{" + ENTRY.replace('"a"', '"a\tb"') + "}",
        "{" + ENTRY.replace("[2]", "[2,]") + "}",
        "{" + ENTRY.replace("[2]", "[02]") + "}",
        "{" + ENTRY.replace("[2]", "[,2]") + "}",
        "{" + ENTRY.replace("[2]", f"[{'9' * 20}]") + "}",
        "{" + ENTRY.replace("[0,8]", "[00,8]") + "}",
        "{" + ENTRY.replace("[0,8]", "[-0,8]") + "}",
        "{" + ENTRY.replace("[0,8]", f"[0,{2**64 - 1}]") + "}",
        "{" + ENTRY.replace("[0,8]", "[0,8,9]") + "}",
    ],
)
def test_any_other_header_is_left_to_the_decoder(text: str) -> None:
    data = text.encode()
    assert compact_header(data) is None
    assert parsed(data) == decoded(data)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"__metadata__":{{"a":"b","a":"c"}},{ENTRY}}}',
        f"{{{ENTRY},{ENTRY}}}",
        "{" + ENTRY.replace('"a"', '"__metadata__"') + "}",
        "{" + ENTRY.replace("[2]", f"[{','.join('1' * 70)}]") + "}",
        "{" + ENTRY.replace("F32", "") + "}",
        "{" + ENTRY.replace("[0,8]", "[8,0]") + "}",
    ],
)
def test_what_is_wrong_with_entries_is_found_as_before(text: str) -> None:
    data = text.encode()
    assert compact_header(data) is not None
    assert parsed(data) == decoded(data)


def test_what_is_no_text_is_left_to_the_decoder() -> None:
    assert compact_header(GOOD.replace(b"\xa9", b"\xff")) is None


SIZE = st.one_of(st.integers(0, 9), st.sampled_from([2**63, 2**64 - 1, 2**64, -1, 1.5, True]))
INFO = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "BF16", "", "x"]),
        "shape": st.lists(SIZE, max_size=3),
        "data_offsets": st.lists(SIZE, min_size=2, max_size=2),
    }
)
NAME = st.one_of(st.sampled_from(["a", "b.1.c", "__metadata__"]), st.text(max_size=4))
METADATA = st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2)


@given(st.dictionaries(NAME, INFO, max_size=4), st.none() | METADATA, st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_any_header_is_read_as_it_is_decoded(
    entries: dict[str, Any], metadata: dict[str, str] | None, is_ascii: bool
) -> None:
    value = entries if metadata is None else {"__metadata__": metadata, **entries}
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=is_ascii)
    data = text.encode("utf-8", "surrogatepass")
    assert parsed(data) == decoded(data)


SPICE = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"0", b"-", b"1e1", b"\xff", b"\n"]


@given(st.data())
@example(None)
@settings(max_examples=examples(150), deadline=None)
def test_any_damaged_header_is_read_as_it_is_decoded(data: Any) -> None:
    text = GOOD
    for _ in range(0 if data is None else data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        left = text[at + data.draw(st.integers(0, 3)) :]
        text = text[:at] + data.draw(st.sampled_from(SPICE)) + left
    assert parsed(text) == decoded(text)
