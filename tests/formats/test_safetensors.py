"""Reading headers: how much is read, what is found, what lies in place of weights."""

from __future__ import annotations

import gc
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.choices import Severity
from hfinspect.core.collector import collector_paused
from hfinspect.core.tensor import StoredTensor
from hfinspect.errors import FormatError
from hfinspect.formats import strict_json
from hfinspect.formats.base import BytesReader
from hfinspect.formats.finding_list import MAX_FINDINGS, FindingList
from hfinspect.formats.registry import MODULES, get_format
from hfinspect.formats.safetensors.header import element_count, parse_header
from hfinspect.formats.safetensors.safetensors import (
    DEFAULT_FIRST_GUESS,
    FORMAT,
    header_bound,
    judge_header,
    name_bytes,
    shard_from_header,
)

from ..builders import header_text, raw_safetensors, safetensors_bytes, safetensors_header
from .readers import MeteredReader, SparseReader

TWO = {"a": ("F32", (2, 3)), "b": ("BF16", (4,))}


def test_tensors_are_told_with_absolute_offsets() -> None:
    data = safetensors_bytes(TWO, {"format": "pt"})
    start = len(data) - 32
    shard = FORMAT.read_header(BytesReader("x.safetensors", data))
    assert shard.tensors == (
        StoredTensor("a", "F32", (2, 3), 6, 24, start),
        StoredTensor("b", "BF16", (4,), 4, 8, start + 24),
    )
    assert shard.metadata == {"format": "pt"}
    assert (shard.file, shard.format) == ("x.safetensors", "safetensors")
    assert (shard.size, shard.header_bytes, shard.findings) == (len(data), start, ())


def test_unknown_dtype_is_sized_by_its_offsets_and_said() -> None:
    """Without ``strict``: a dtype newer than us is no reason to refuse a whole model."""
    header = {"a": {"dtype": "F5_E1M3", "shape": [8], "data_offsets": [0, 5]}}
    data = raw_safetensors(header_text(header), bytes(5))
    shard = FORMAT.read_header(BytesReader("x", data))
    tensor = shard.tensors[0]
    assert (tensor.dtype, tensor.elements, tensor.nbytes) == ("F5_E1M3", 8, 5)
    assert [(f.rule, f.severity, f.tensor) for f in shard.findings] == [("dtype", "warning", "a")]
    with pytest.raises(FormatError, match="unknown dtype 'F5_E1M3'") as error:
        FORMAT.read_header(BytesReader("x", data), strict=True)
    assert error.value.rule == "dtype"


def test_unknown_dtype_of_no_bytes_is_said_too() -> None:
    text = json.dumps({"a": {"dtype": "F5_E1M3", "shape": [2], "data_offsets": [0, 0]}}).encode()
    assert "dtype" in [finding.rule for finding in shard_from_header("a", text, None).findings]


def test_one_read_suffices_where_the_guess_covers_the_header() -> None:
    reader = MeteredReader("x", safetensors_bytes(TWO))
    FORMAT.read_header(reader)
    assert reader.asked == [(0, DEFAULT_FIRST_GUESS)]


@pytest.mark.parametrize("guess", [0, 1, 8, 9, 50, 100])
def test_exactly_one_more_read_fetches_the_rest(guess: int) -> None:
    data = safetensors_bytes(TWO)
    reader = MeteredReader("x", data)
    shard = FORMAT.read_header(reader, first_guess=guess)
    first = max(guess, 8)
    assert reader.asked == [(0, first), (first, shard.header_bytes)]


def test_sparse_hundred_gigabytes_cost_their_header() -> None:
    header = safetensors_header({"a": ("F32", (25 * 2**15, 2**15))})
    head = raw_safetensors(header_text(header))
    reader = SparseReader("x", len(head) + 100 * 2**30, {0: head})
    shard = FORMAT.read_header(reader, first_guess=8)
    assert shard.tensors[0].nbytes == 100 * 2**30
    assert (reader.reads, reader.bytes_read) == (2, len(head))


def test_nothing_is_read_for_a_length_that_cannot_be() -> None:
    for length in (100_000_001, 2**63):
        reader = MeteredReader("x", raw_safetensors("{}", length=length) + bytes(100_000))
        with pytest.raises(FormatError, match="claims"):
            FORMAT.read_header(reader, first_guess=8)
        assert reader.bytes_read <= 512
    reader = MeteredReader("x", raw_safetensors("{}", length=99_999_999))
    with pytest.raises(FormatError, match="inside the header"):
        FORMAT.read_header(reader, first_guess=8)
    assert reader.asked == [(0, 8)]


def test_file_that_ends_earlier_than_its_server_said_is_truncated() -> None:
    data = safetensors_bytes(TWO)

    class Liar(BytesReader):
        @property
        def size(self) -> int:
            return 10_000

    with pytest.raises(FormatError) as error:
        FORMAT.read_header(Liar("x", data[:50]), first_guess=20)
    assert error.value.rule == "truncated-header"


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "empty-file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "lfs-pointer"),
        (b"# xet version 0\nfilesize = 1\n", "xet-pointer"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "html-page"),
        (b'{"error":"Repository not found"}', "error-page"),
        (b"abc", "header-too-small"),
        (b"GGUF" + b"\xff" * 20, "other-format"),
    ],
)
@pytest.mark.parametrize("guess", [None, 8])
def test_what_lies_in_place_of_weights_is_named(data: bytes, rule: str, guess: int | None) -> None:
    with pytest.raises(FormatError) as error:
        FORMAT.read_header(BytesReader("model.safetensors", data), first_guess=guess)
    assert error.value.rule == rule
    assert error.value.hint


@given(
    st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=40, unique=True),
    st.integers(1, 2**17),
    st.integers(1, 2**17),
)
def test_bound_covers_headers_of_usual_tensors(names: list[str], rows: int, columns: int) -> None:
    """Two sizes of up to six digits and a short dtype, whatever the names."""
    tensors = {name: ("BF16", (rows, columns)) for name in names if name != "__metadata__"}
    header = safetensors_header(tensors, {"format": "pt"})
    length = 8 + len(header_text(header))
    size = length + len(tensors) * rows * columns * 2
    bound = header_bound(len(tensors), sum(map(name_bytes, tensors)), size)
    assert length <= bound <= length + 8 + 128 + 80 * (len(tensors) + 1) + 6 * sum(map(len, names))


def test_header_that_a_server_has_parsed_gives_the_same_tensors_without_offsets() -> None:
    header = safetensors_header(TWO, {"format": "pt"})
    data = safetensors_bytes(TWO, {"format": "pt"})
    whole = FORMAT.read_header(BytesReader("x", data))
    shard = shard_from_header("x", header, len(data))
    assert [t._replace(offset=None) for t in whole.tensors] == list(shard.tensors)
    assert (shard.size, shard.header_bytes) == (whole.size, whole.header_bytes)
    assert shard.metadata == whole.metadata
    same = shard_from_header("x", header_text(header), len(data))
    assert same == whole


def test_header_that_a_server_has_parsed_is_judged_as_well() -> None:
    header = safetensors_header(TWO)
    with pytest.raises(FormatError) as error:
        shard_from_header("x", header, 20)
    assert error.value.rule == "truncated"
    broken: dict[str, object] = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}
    with pytest.raises(FormatError) as error:
        shard_from_header("x", broken, None)
    assert error.value.rule == "span"
    entries: list[object] = [None, 1, [1], {"dtype": {}}, {"dtype": "F32", "shape": {}}]
    for entry in entries:
        with pytest.raises(FormatError):
            shard_from_header("x", {"a": entry}, None)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.text(max_size=3),
        _json
        | st.fixed_dictionaries(
            {"dtype": st.just("U8"), "shape": st.just([1]), "data_offsets": _json}
        ),
        max_size=3,
    )
)
def test_any_parsed_header_gives_a_shard_or_a_format_error(header: dict[str, object]) -> None:
    try:
        shard = shard_from_header("x", header, None)
    except FormatError:
        return
    assert {tensor.name for tensor in shard.tensors} == set(header) - {"__metadata__"}


def test_headers_that_begin_otherwise_or_are_misaligned_are_remarked() -> None:
    text = b" " + header_text(safetensors_header(TWO))
    findings = judge_header(BytesReader("x", raw_safetensors(text, bytes(32))))[0].findings
    assert [(f.rule, f.severity) for f in findings] == [
        ("header-start", "warning"),
        ("misaligned", "note"),
    ]


def test_names_of_control_characters_are_remarked() -> None:
    tensors = {"": ("U8", (1,)), "a\u202eb": ("U8", (1,)), "plain": ("U8", (1,))}
    shard = FORMAT.read_header(BytesReader("x", safetensors_bytes(tensors)))
    assert [(f.rule, f.tensor) for f in shard.findings] == [("name", ""), ("name", "a\u202eb")]


def test_findings_are_bounded_and_the_rest_counted() -> None:
    header = {f"t{i}": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]} for i in range(1000)}
    data = raw_safetensors(header_text(header))
    findings = judge_header(BytesReader("x", data))[0].findings
    assert len(findings) == MAX_FINDINGS + 1
    assert findings[-1].rule == "more"
    assert findings[-1].severity == "error"


def test_the_worst_of_what_is_left_out_is_kept() -> None:
    findings = FindingList("x")
    many: list[Severity] = ["note"]
    last: list[Severity] = ["warning", "note"]
    for severity in many * MAX_FINDINGS + last:
        findings.add("r", "t", None, severity)
    assert findings.listed()[-1].severity == "warning"


def test_headers_of_nothing_but_values_are_refused_before_decoding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strict_json, "DENSITY_CHECKED_FROM", 1000)
    with pytest.raises(FormatError) as error:
        parse_header("x", b'{"a":[' + b"[]," * 1000 + b"[]]}")
    assert error.value.rule == "too-many-values"
    dense = {f"{i}": {"dtype": "F32", "shape": [2], "data_offsets": [i, i + 8]} for i in range(99)}
    parse_header("x", json.dumps(dense, separators=(",", ":")).encode())


def test_products_of_hostile_shapes_stop_at_64_bits() -> None:
    assert element_count([2**32, 2**31]) == 2**63
    assert element_count([2**32, 2**32]) is None
    assert element_count([2**64 - 1] * 1_000_000) is None
    assert element_count([0] + [2**64 - 1] * 100) == 0


def test_collector_is_left_as_it_was() -> None:
    for enabled in (True, False):
        gc.enable() if enabled else gc.disable()
        try:
            with collector_paused():
                assert not gc.isenabled()
                FORMAT.read_header(BytesReader("x", safetensors_bytes(TWO)))
                assert not gc.isenabled(), "an inner pause ended the outer one"
            with pytest.raises(FormatError):
                FORMAT.read_header(BytesReader("x", struct.pack("<Q", 1) + b"{"))
            assert gc.isenabled() == enabled
        finally:
            gc.enable()


def test_registry_imports_on_use_and_knows_safetensors() -> None:
    assert next(iter(MODULES)) == "safetensors"
    assert get_format("safetensors") is FORMAT
    assert FORMAT.matches("a/Model.SAFETENSORS")
    assert not FORMAT.matches("model.bin")
    with pytest.raises(KeyError):
        get_format("nonsense")
