"""Parsed headers as bytes: what was packed comes back, and nothing else is believed."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.stored_tensors import StoredTensors
from hfinspect.errors import FormatError
from hfinspect.formats.safetensors.cached_header import CachedHeader, pack_headers, unpack_headers
from hfinspect.formats.safetensors.header import Header, header_of_mapping, parse_header
from hfinspect.formats.safetensors.safetensors import judge_parsed

from ..builders import header_text, safetensors_header

TENSORS = {
    f"layers.{layer}.experts.{expert}.{name}": kind
    for layer in range(3)
    for expert in range(4)
    for name, kind in (("up.weight", ("F8_E4M3", (4, 2))), ("up.scale", ("F32", (1,))))
}
HEADER = parse_header("m", header_text(safetensors_header(TENSORS, {"format": "pt"})))
PACKED = pack_headers([CachedHeader(HEADER, 1000), CachedHeader(HEADER, None)])

#: Entries as safetensors writes them, and some that it would not.
ENTRIES = st.dictionaries(
    st.sampled_from(["a", "h.0.w", "h.1.w", "h.01.w", "h.2.%d", "x.1.2.3.4", "", "h.1\n", "é.7"]),
    st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(["F32", "BF16", "new", 3]),
            "shape": st.lists(st.integers(0, 70_000), max_size=3),
            "data_offsets": st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=2),
        },
        optional={"more": st.just(1)},
    ),
    max_size=7,
)


@given(ENTRIES, st.one_of(st.none(), st.integers(0, 2**40)), st.booleans())
def test_a_header_comes_back_as_it_was(
    entries: dict[str, Any], size: int | None, is_decoded: bool
) -> None:
    if is_decoded:
        header = header_of_mapping("m", entries)
    else:
        header = parse_header("m", json.dumps({**entries, "__metadata__": {"a": "b"}}).encode())
    [cached_header] = unpack_headers(pack_headers([CachedHeader(header, size)])) or []
    assert cached_header == CachedHeader(header, size)
    assert judged(cached_header.header) == judged(header)


def judged(header: Header) -> object:
    try:
        return judge_parsed(header, 10**6)[0]
    except FormatError as error:
        return str(error)


def test_several_are_apart_and_small() -> None:
    cached_headers = unpack_headers(PACKED)
    assert cached_headers == [CachedHeader(HEADER, 1000), CachedHeader(HEADER, None)]
    many = {f"layers.{n}.w": ("F32", (2,)) for n in range(5_000)}
    text = header_text(safetensors_header(many))
    packed = pack_headers([CachedHeader(parse_header("m", text), None)])
    assert len(packed) < 4 * len(many) + 500 < len(text) / 15


def sound(header: Header) -> bool:
    """Whether it is one that a file may have: each name once, in one spelling."""
    tensors = header.tensors
    names = [tensor.name for tensor in tensors]
    forms = [(t.dtype, t.shape) for t in tensors]
    again = StoredTensors.of_columns(
        names,
        forms,
        {form: form for form in forms},
        tensors.sizes(),
        tensors.starts(),
        header.data_start,
    )
    return len(set(names)) == len(names) and set(again.kinds) == set(tensors.kinds)


def test_no_damage_is_believed() -> None:
    """Of every byte one bit is another, then another, and all that comes after it is missing."""
    believed = 0
    for at in range(len(PACKED)):
        for bit in (1 << at % 8, 0x80):
            data = PACKED[:at] + bytes([PACKED[at] ^ bit]) + PACKED[at + 1 :]
            cached_headers = unpack_headers(data)
            assert cached_headers is None or all(sound(one.header) for one in cached_headers)
            believed += cached_headers is not None
        assert unpack_headers(PACKED[:at]) is None
    assert unpack_headers(PACKED + b"\0") is None
    # A digit of a size, a letter of a name: as plausible as in a header; the digest guards them.
    assert believed < len(PACKED)


def with_text(change: dict[str, Any]) -> bytes:
    """The first header, packed, with another word about it."""
    packed = pack_headers([CachedHeader(HEADER, 1000)])
    [length] = struct.unpack_from("<Q", packed)
    said = json.loads(packed[8 : 8 + length])
    said.update({key: value for key, value in change.items() if key in said})
    if "headers" not in change:
        said["headers"][0].update({key: change[key] for key in change if key not in said})
    text = json.dumps(said).encode()
    return struct.pack("<Q", len(text)) + text + packed[8 + length :]


@pytest.mark.parametrize(
    "change",
    [
        {"version": 0},
        {"order": "middle"},
        {"headers": {}},
        {"headers": [[]]},
        {"kinds": []},
        {"kinds": [["layers.%d.w", "F32", [2], 8]] * 2},
        {"kinds": [["%d.%d.%d.%d", "F32", [2], 8], ["%s.%d", "F32", [2], 8]]},
        {"kinds": [["layers.%d.experts.%d.a.7", "F32", [2], 8], ["%d.b.%d", "F32", [2], 8]]},
        {"kinds": [["%d.a.%d", "F32", [-1], 8], ["%d.b.%d", "F32", [2], 8]]},
        {"kinds": [["%d.a.%d", "F32", [2.0], 8], ["%d.b.%d", "F32", [2], 8]]},
        {"kinds": [["%d.a.%d", None, [2], 8], ["%d.b.%d", "F32", [2], 8]]},
        {"arrays": [["B", 10**15]]},
        {"arrays": [["u", 24], ["I", 12], ["I", 12]]},
        {"arrays": [["B", -1], ["I", 12], ["I", 12]]},
        {"metadata": {"a": 1}},
        {"findings": [{"rule": "x"}]},
        {"findings": [{"rule": "x", "text": "", "file": 1, "tensor": None, "severity": "note"}]},
        {"size": -1},
        {"start": None},
        {"skipped": True},
        {"file": None},
    ],
)
def test_another_word_is_refused(change: dict[str, Any]) -> None:
    assert unpack_headers(with_text(change)) is None


def test_deep_and_long_text_is_refused() -> None:
    for text in (b"[" * 100_000, b"1" * 10_000, b'{"a":' * 5_000, b"", b"\xff", b"NaN", b"null"):
        assert unpack_headers(struct.pack("<Q", len(text)) + text) is None
    assert unpack_headers(b"") is None
    assert unpack_headers(struct.pack("<Q", 2**63)) is None
