"""The safetensors library is the judge: files are accepted and refused exactly as it does."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError, deserialize, safe_open

from hfinspect.core.checkpoint import Shard
from hfinspect.errors import FormatError
from hfinspect.formats.base import BytesReader
from hfinspect.formats.safetensors.header import LIBRARY_DTYPES
from hfinspect.formats.safetensors.safetensors import FORMAT, judge_header

from ..builders import header_text, raw_safetensors, safetensors_bytes, safetensors_header
from ..examples import examples

SOUND = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
D8 = bytes(8)


def library_reads(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    tensors: list[tuple[str, dict[str, Any]]] = deserialize(data)  # type: ignore[no-untyped-call]
    return tensors


def library_accepts(data: bytes) -> bool:
    try:
        library_reads(data)
    except SafetensorError:
        return False
    return True


def ours(data: bytes) -> Shard | FormatError:
    try:
        return FORMAT.read_header(BytesReader("x.safetensors", data), strict=True)
    except FormatError as error:
        return error


def assert_same_verdict(data: bytes) -> None:
    result = ours(data)
    assert isinstance(result, Shard) == library_accepts(data), result
    if isinstance(result, Shard):
        theirs = {name: (info["dtype"], info["shape"]) for name, info in library_reads(data)}
        assert {t.name for t in result.tensors} == set(theirs)
        for tensor in result.tensors:
            assert list(tensor.shape) == theirs[tensor.name][1]
            assert tensor.nbytes == tensor.elements * LIBRARY_DTYPES[tensor.dtype] // 8


def entry(dtype: str = '"F32"', shape: str = "[2]", offsets: str = "[0,8]", more: str = "") -> str:
    return f'{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}{more}}}'


def one(**fields: str) -> str:
    return f'{{"a":{entry(**fields)}}}'


U64 = str(2**64 - 1)
OK = ""

#: name of the case -> (file, the rule that we name, or OK)
CASES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "empty-file"),
    "seven bytes": (bytes(7), "header-too-small"),
    "header of no bytes": (struct.pack("<Q", 0), "not-json"),
    "no tensors": (raw_safetensors("{}"), OK),
    "no tensors, padded": (raw_safetensors("{}      "), OK),
    "no tensors, data": (raw_safetensors("{}", b"x"), "trailing-bytes"),
    "one tensor": (raw_safetensors(one(), D8), OK),
    "space before": (raw_safetensors(" " + one(), D8), OK),
    "newline after": (raw_safetensors(one() + "\n", D8), OK),
    "NUL after": (raw_safetensors(one() + "\0", D8), "not-json"),
    "byte order mark": (raw_safetensors("\ufeff" + one(), D8), "not-json"),
    "a list": (raw_safetensors("[]"), "not-object"),
    "null": (raw_safetensors("null"), "not-object"),
    "not UTF-8": (raw_safetensors(b'{"\xff":' + entry().encode() + b"}", D8), "utf8"),
    "surrogate in UTF-8": (raw_safetensors(b'{"\xed\xa0\x80":1}'), "utf8"),
    "length beyond the file": (raw_safetensors("{}", length=100), "truncated-header"),
    "length at the limit": (raw_safetensors("{}", length=100_000_000), "truncated-header"),
    "length over the limit": (raw_safetensors("{}", length=100_000_001), "header-too-large"),
    "length of all ones": (raw_safetensors("{}", length=2**64 - 1), "header-too-large"),
    "data cut": (raw_safetensors(one(), D8[1:]), "truncated"),
    "data too long": (raw_safetensors(one(), D8 + b"x"), "trailing-bytes"),
    "tensor twice": (raw_safetensors(f'{{"a":{entry()},"a":{entry()}}}', D8), OK),
    "tensor twice, the last one counts": (
        raw_safetensors(f'{{"a":{entry(offsets="[0,4]")},"a":{entry()}}}', D8),
        OK,
    ),
    "field twice": (raw_safetensors(one(more=',"dtype":"F32"'), D8), "duplicate-key"),
    "unknown field": (raw_safetensors(one(more=',"x":1'), D8), OK),
    "unknown field twice": (raw_safetensors(one(more=',"x":1,"x":2'), D8), OK),
    "unknown field, NaN": (raw_safetensors(one(more=',"x":NaN'), D8), "not-json"),
    "unknown field, 1e999": (raw_safetensors(one(more=',"x":1e999'), D8), "not-json"),
    "unknown field, 300 digits": (raw_safetensors(one(more=',"x":' + "9" * 300), D8), OK),
    "unknown field, 400 digits": (raw_safetensors(one(more=',"x":' + "9" * 400), D8), "not-json"),
    "unknown field, 5000 digits": (raw_safetensors(one(more=',"x":' + "9" * 5000), D8), "not-json"),
    "unknown field, half a pair": (raw_safetensors(one(more=',"x":"\\ud800"'), D8), "not-json"),
    "unknown key, half a pair": (raw_safetensors(one(more=',"\\udc00":1'), D8), "not-json"),
    "127 levels": (raw_safetensors(one(more=',"x":' + "[" * 125 + "]" * 125), D8), OK),
    "128 levels": (raw_safetensors(one(more=',"x":' + "[" * 126 + "]" * 126), D8), "nesting"),
    "128 levels of objects": (
        raw_safetensors(one(more=',"x":' + '{"y":' * 126 + "1" + "}" * 126), D8),
        "nesting",
    ),
    "metadata": (raw_safetensors(f'{{"__metadata__":{{"k":"v"}},"a":{entry()}}}', D8), OK),
    "metadata null": (raw_safetensors(f'{{"__metadata__":null,"a":{entry()}}}', D8), OK),
    "metadata list": (raw_safetensors(f'{{"__metadata__":[],"a":{entry()}}}', D8), "metadata"),
    "metadata number": (raw_safetensors('{"__metadata__":{"k":1}}'), "metadata"),
    "metadata null value": (raw_safetensors('{"__metadata__":{"k":null}}'), "metadata"),
    "metadata key twice": (raw_safetensors('{"__metadata__":{"k":"1","k":"2"}}'), OK),
    "metadata twice": (raw_safetensors('{"__metadata__":{},"__metadata__":{}}'), "duplicate-key"),
    "name with control character": (raw_safetensors(f'{{"\\u0000":{entry()}}}', D8), OK),
    "raw control character": (raw_safetensors(f'{{"\1":{entry()}}}', D8), "not-json"),
    "empty name": (raw_safetensors(f'{{"":{entry()}}}', D8), OK),
    "name in two halves": (raw_safetensors(f'{{"\\ud83d\\ude00":{entry()}}}', D8), OK),
    "half a pair in a name": (raw_safetensors(f'{{"\\ud83d":{entry()}}}', D8), "not-json"),
    "entry a number": (raw_safetensors('{"a":1}'), "entry"),
    "entry null": (raw_safetensors('{"a":null}'), "entry"),
    "entry a list": (raw_safetensors('{"a":["F32",[2],[0,8]]}', D8), OK),
    "entry a longer list": (raw_safetensors('{"a":["F32",[2],[0,8],1]}', D8), "entry"),
    "no shape": (raw_safetensors('{"a":{"dtype":"F32","data_offsets":[0,8]}}', D8), "entry"),
    "other order": (
        raw_safetensors('{"a":{"shape":[2],"data_offsets":[0,8],"dtype":"F32"}}', D8),
        OK,
    ),
    "dtype as variant": (raw_safetensors(one(dtype='{"F32":null}'), D8), OK),
    "dtype as variant with content": (raw_safetensors(one(dtype='{"F32":1}'), D8), "dtype"),
    "dtype a number": (raw_safetensors(one(dtype="11"), D8), "dtype"),
    "dtype in lower case": (raw_safetensors(one(dtype='"f32"'), D8), "dtype"),
    "dtype unknown": (raw_safetensors(one(dtype='"F33"'), D8), "dtype"),
    "dtype of other formats": (
        raw_safetensors(one(dtype='"C128"', shape="[1]", offsets="[0,16]"), D8 * 2),
        "dtype",
    ),
    "shape null": (raw_safetensors(one(shape="null"), D8), "shape"),
    "shape object": (raw_safetensors(one(shape="{}", offsets="[0,4]"), D8[:4]), "shape"),
    "shape of strings": (raw_safetensors(one(shape='["2"]'), D8), "shape"),
    "shape of fractions": (raw_safetensors(one(shape="[2.0]"), D8), "shape"),
    "shape with exponent": (raw_safetensors(one(shape="[2e0]"), D8), "shape"),
    "shape negative": (raw_safetensors(one(shape="[-1,-2]"), D8), "shape"),
    "shape minus zero": (raw_safetensors(one(shape="[-0]", offsets="[0,0]")), "shape"),
    "shape true": (raw_safetensors(one(shape="[true,2]"), D8), "shape"),
    "shape leading zero": (raw_safetensors(one(shape="[02]"), D8), "not-json"),
    "shape of 2000 sizes": (raw_safetensors(one(shape="[" + "1," * 1999 + "2]"), D8), OK),
    "shape over 64 bits": (raw_safetensors(one(shape=f"[{2**64}]"), D8), "shape"),
    "scalar": (raw_safetensors(one(shape="[]", offsets="[0,4]"), D8[:4]), OK),
    "zero": (raw_safetensors(one(shape="[0]", offsets="[0,0]")), OK),
    "zero after much": (raw_safetensors(one(shape=f"[{U64},0]", offsets="[0,0]")), OK),
    "zero after too much": (
        raw_safetensors(one(shape=f"[{U64},2,0]", offsets="[0,0]")),
        "overflow",
    ),
    "zero before too much": (raw_safetensors(one(shape=f"[0,{U64},2]", offsets="[0,0]")), OK),
    "too many elements": (raw_safetensors(one(shape=f"[{U64},2]"), D8), "overflow"),
    "too many bits": (raw_safetensors(one(shape=f"[{2**62 + 1}]", offsets="[0,4]")), "overflow"),
    "zero tensor between two": (
        raw_safetensors(f'{{"a":{entry()},"b":{entry(shape="[0]", offsets="[8,8]")}}}', D8),
        OK,
    ),
    "zero tensor inside another": (
        raw_safetensors(f'{{"a":{entry()},"b":{entry(shape="[0]", offsets="[4,4]")}}}', D8),
        "overlap",
    ),
    "zero tensor far away": (
        raw_safetensors(f'{{"a":{entry()},"b":{entry(shape="[0]", offsets="[99,99]")}}}', D8),
        "hole",
    ),
    "one offset": (raw_safetensors(one(offsets="[0]"), D8), "offsets"),
    "three offsets": (raw_safetensors(one(offsets="[0,8,8]"), D8), "offsets"),
    "offsets reversed": (raw_safetensors(one(offsets="[8,0]"), D8), "offsets"),
    "offsets of fractions": (raw_safetensors(one(offsets="[0.0,8]"), D8), "offsets"),
    "offsets object": (raw_safetensors(one(offsets='{"x":0,"y":8}'), D8), "offsets"),
    "offsets true": (raw_safetensors(one(offsets="[false,8]"), D8), "offsets"),
    "span too long": (raw_safetensors(one(offsets="[0,12]"), D8 + D8[:4]), "span"),
    "span of all bits": (raw_safetensors(one(offsets=f"[0,{U64}]"), D8), "span"),
    "hole": (
        raw_safetensors(f'{{"a":{entry()},"b":{entry(offsets="[16,24]")}}}', D8 * 3),
        "hole",
    ),
    "hole at the start": (raw_safetensors(one(offsets="[8,16]"), D8 * 2), "hole"),
    "overlap": (
        raw_safetensors(f'{{"a":{entry()},"b":{entry(offsets="[4,12]")}}}', D8 + D8[:4]),
        "overlap",
    ),
    "same bytes twice": (raw_safetensors(f'{{"a":{entry()},"b":{entry()}}}', D8), "overlap"),
    "F4 with half a byte": (
        raw_safetensors(one(dtype='"F4"', shape="[3]", offsets="[0,2]"), D8[:2]),
        "span",
    ),
    "F4 scalar": (
        raw_safetensors(one(dtype='"F4"', shape="[]", offsets="[0,1]"), D8[:1]),
        "span",
    ),
    "F4 rows of three": (
        raw_safetensors(one(dtype='"F4"', shape="[2,3]", offsets="[0,3]"), D8[:3]),
        OK,
    ),
    "F6 with part of a byte": (
        raw_safetensors(one(dtype='"F6_E2M3"', shape="[3]", offsets="[0,3]"), D8[:3]),
        "span",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_cases_are_judged_as_the_library_does_and_named(case: str) -> None:
    data, rule = CASES[case]
    assert_same_verdict(data)
    result = ours(data)
    assert (result.rule if isinstance(result, FormatError) else OK) == rule
    if isinstance(result, FormatError):
        assert str(result).startswith("x.safetensors: ")


@pytest.mark.parametrize("case", CASES)
def test_safe_open_agrees_with_the_other_entrance_of_the_library(case: str, tmp_path: Path) -> None:
    """Loaders use safe_open, the differential test deserialize: both must judge alike."""
    data, _ = CASES[case]
    path = tmp_path / "x.safetensors"
    path.write_bytes(data)
    try:
        with safe_open(path, "np") as file:
            file.keys()
        accepted = True
    except SafetensorError:
        accepted = False
    assert accepted == library_accepts(data)


@pytest.mark.parametrize("dtype", LIBRARY_DTYPES)
def test_every_dtype_has_the_size_that_the_library_gives_it(dtype: str) -> None:
    assert isinstance(ours(safetensors_bytes({"a": (dtype, (4,))})), Shard)
    assert library_accepts(safetensors_bytes({"a": (dtype, (4,))}))


def test_dtypes_are_all_that_the_library_knows() -> None:
    with pytest.raises(SafetensorError) as refused:
        library_reads(raw_safetensors(one(dtype='"nonsense"'), D8))
    listed = str(refused.value).partition("expected one of ")[2].partition(" at line")[0]
    assert {name.strip("` ") for name in listed.split(",")} == set(LIBRARY_DTYPES)


@pytest.mark.parametrize("length", range(99_990, 100_010))
def test_headers_around_the_first_guess_are_read_whole(length: int) -> None:
    """A header of 99,994 to 99,999 bytes is where others forget the eight bytes of prefix."""
    text = header_text(safetensors_header({"a": ("F32", (2,))}))
    data = raw_safetensors(text + b" " * (length - len(text)), D8)
    assert_same_verdict(data)
    shard = ours(data)
    assert isinstance(shard, Shard)
    assert shard.header_bytes == length + 8


def test_everything_wrong_is_found_in_one_go() -> None:
    """The audit wants all of it, not the first error."""
    header = {
        "short": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
        "strange": {"dtype": "F33", "shape": [1], "data_offsets": [8, 16]},
        "far": {"dtype": "F32", "shape": [2], "data_offsets": [24, 32]},
        "far again": {"dtype": "U8", "shape": [2], "data_offsets": [30, 32]},
    }
    data = raw_safetensors(header_text(header), bytes(40))
    findings = judge_header(BytesReader("x", data))[0].findings
    assert [(f.rule, f.tensor) for f in findings] == [
        ("span", "short"),
        ("dtype", "strange"),
        ("hole", "far"),
        ("overlap", "far again"),
        ("trailing-bytes", None),
    ]


# Any bytes, and sound files with small damage.

_numbers = st.one_of(
    st.integers(0, 20), st.integers(-3, 3), st.floats(), st.sampled_from([2**63, 2**64 - 1, 2**64])
)
_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), _numbers, st.text(max_size=3), st.sampled_from(["F32", "F4"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
_tensors = st.dictionaries(
    st.text(max_size=4),
    st.tuples(
        st.sampled_from(sorted(LIBRARY_DTYPES)),
        st.lists(st.integers(0, 5), max_size=3).map(lambda sizes: (*sizes, 4)),
    ),
    max_size=5,
)


def entry_offsets(entry: dict[str, object]) -> list[int]:
    """The offsets of an entry that may have lost them already."""
    offsets = entry.get("data_offsets")
    return [value for value in offsets if type(value) is int] if isinstance(offsets, list) else []


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A sound file with one or two of its parts replaced."""
    header = safetensors_header(draw(_tensors), draw(st.none() | st.just({"format": "pt"})))
    size = max([0, *(e["data_offsets"][1] for k, e in header.items() if k != "__metadata__")])  # type: ignore[index]
    entries = [e for k, e in header.items() if k != "__metadata__" and isinstance(e, dict)]
    for _ in range(draw(st.integers(0, 2))):
        if not entries:
            break
        chosen = draw(st.sampled_from(entries))
        field = draw(st.sampled_from(["dtype", "shape", "data_offsets", "other"]))
        if field == "data_offsets" and draw(st.booleans()):
            moved = draw(st.integers(-8, 8))
            chosen[field] = [max(0, value + moved) for value in entry_offsets(chosen)]
        elif draw(st.booleans()):
            chosen.pop(field, None)
        else:
            chosen[field] = draw(_values)
    if draw(st.integers(0, 9)) == 0:
        header["__metadata__"] = draw(_values)
    text = json.dumps(header, ensure_ascii=draw(st.booleans())).encode("utf8", "surrogatepass")
    return raw_safetensors(text, bytes(max(0, size + draw(st.sampled_from([0, 0, 0, 1, -1])))))


@settings(max_examples=examples(200), deadline=None)
@given(damaged())
def test_damaged_files_are_judged_as_the_library_does(data: bytes) -> None:
    assert_same_verdict(data)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_flipped_bytes_are_judged_as_the_library_does(data: st.DataObject) -> None:
    file = bytearray(safetensors_bytes(data.draw(_tensors), {"format": "pt"}))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(file) - 1))
        file[at] = data.draw(st.sampled_from(b'"{}[],:0123456789-+.eE\\u dF\x00\xff'))
    assert_same_verdict(bytes(file))


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=60), st.booleans())
@example(b"-0", True)
@example(b"[-0]", True)
def test_any_bytes_give_a_shard_or_a_format_error(data: bytes, framed: bool) -> None:
    assert_same_verdict(raw_safetensors(data) if framed else data)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet='{}[]",:0-1eE.\\ud8 "aN', max_size=40))
def test_any_json_like_text_is_judged_as_the_library_does(text: str) -> None:
    assert_same_verdict(raw_safetensors(f'{{"a":{entry(more=f",{text}")}}}', D8))
    assert_same_verdict(raw_safetensors(f'{{"a":{entry(shape=f"[{text}]")}}}', D8))
