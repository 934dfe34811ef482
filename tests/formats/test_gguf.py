"""GGUF headers: against the gguf package, for what they cost, and for what is wrong with them."""

from __future__ import annotations

import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import gguf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.core.checkpoint import Shard
from hfinspect.errors import FormatError, HfinspectError, LimitError, UnsupportedFormatError
from hfinspect.formats.base import BytesReader
from hfinspect.formats.gguf.ggml_types import FILE_TYPES, GGML_TYPES
from hfinspect.formats.gguf.gguf import FORMAT, describe
from hfinspect.formats.window import FIRST_STEP, NEXT_STEP

from ..examples import examples
from .gguf_files import ARRAY, BOOL, F32, STRING, U8, U64, GgufWriter, one_tensor
from .readers import MeteredReader, SparseReader, metered

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"
FILES = sorted(FIXTURES.glob("gguf-*/*.gguf"))


def read(data: bytes) -> Shard:
    return FORMAT.read_header(BytesReader("x.gguf", data))


def rules(shard: Shard) -> set[str]:
    return {finding.rule for finding in shard.findings}


def refused(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        read(data)
    return caught.value.rule


# -- against the gguf package --------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(gguf.GGMLQuantizationType))
def test_every_type_has_the_block_size_of_the_package(kind: Any) -> None:
    assert GGML_TYPES[int(kind)] == (kind.name, *gguf.GGML_QUANT_SIZES[kind])


def test_every_file_type_has_the_name_of_the_package() -> None:
    for kind in gguf.LlamaFileType:
        if kind.name != "GUESSED":
            name = kind.name.removeprefix("MOSTLY_").removeprefix("ALL_")
            assert FILE_TYPES[int(kind)] == name


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_tensors_are_those_that_the_package_reads(path: Path) -> None:
    expected = json.loads((path.parent / "expected.json").read_text())["files"][path.name]
    shard = FORMAT.read_header(metered(path))
    assert {
        t.name: {
            "type": t.dtype,
            "shape": list(t.shape),
            "elements": t.elements,
            "nbytes": t.nbytes,
            "offset": t.offset,
        }
        for t in shard.tensors
    } == expected
    assert shard.findings == ()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_keys_and_values_are_those_that_the_package_reads(path: Path) -> None:
    metadata = FORMAT.read_header(metered(path)).metadata
    fields = gguf.GGUFReader(str(path)).fields
    own = {"GGUF.version", "GGUF.byte_order"}
    assert set(metadata) - own == set(fields) - {
        "GGUF.version",
        "GGUF.tensor_count",
        "GGUF.kv_count",
    }
    for key, value in metadata.items():
        if key in own or fields[key].types == [gguf.GGUFValueType.ARRAY]:
            continue
        content = fields[key].contents()
        if isinstance(value, dict):
            assert value["length"] == len(content)
            assert value["first"] == content[: len(value["first"])]
        else:
            assert value == (str(content) if content == float("inf") else content)


def test_a_recorded_file_is_described() -> None:
    for case, order in (("gguf-v3", "little"), ("gguf-big-endian", "big")):
        shard = FORMAT.read_header(metered(FIXTURES / case / "tiny-Q4_K_M.gguf"))
        assert shard.metadata["GGUF.byte_order"] == order
        facts = describe(shard.metadata)
        assert (facts.architecture, facts.layers, facts.context_length) == ("llama", 2, 128)
        assert (facts.heads, facts.kv_heads) == ((4, 8), (2, 4))
        assert facts.intermediate_size == (128, 256)
        assert (facts.experts, facts.experts_used) == (8, 2)
        assert (facts.file_type, facts.tokenizer) == ("Q4_K_M", "gpt2")
        assert facts.tokens == facts.vocab_size == 100
        assert facts.head_dim is None  # heads differ by layer
        assert facts.split is None


def test_a_split_file_says_which_it_is() -> None:
    files = sorted((FIXTURES / "gguf-split").glob("*.gguf"))
    facts = [describe(FORMAT.read_header(metered(path)).metadata) for path in files]
    assert [f.split for f in facts] == [(0, 3, 8), (1, 3, 8), (2, 3, 8)]


def test_facts_that_files_leave_out_are_derived_as_their_readers_do() -> None:
    facts = describe(
        {
            "general.architecture": "llama",
            "llama.attention.head_count": 32,
            "llama.embedding_length": 4096,
            "tokenizer.ggml.tokens": {"array": "string", "length": 128256, "first": []},
            "general.file_type": 9999,
            "llama.block_count": "many",
        }
    )
    assert (facts.kv_heads, facts.head_dim, facts.value_dim) == (32, 128, 128)
    assert facts.vocab_size == 128256
    assert facts.file_type == "FTYPE_9999"
    assert facts.layers is None
    assert describe({}).architecture is None


# -- what it costs -------------------------------------------------------------------------------


def tokenizer(tokens: int) -> GgufWriter:
    writer = one_tensor().texts("tokenizer.ggml.tokens", [f"token{n}" for n in range(tokens)])
    return writer.numbers("tokenizer.ggml.token_type", range(tokens))


def test_a_five_gigabyte_file_is_read_to_its_header_and_one_step_further() -> None:
    small = one_tensor().header()
    large = tokenizer(150_000).header()
    for head in (small, large):
        reader = SparseReader("x.gguf", 5 * 10**9, {0: head})
        shard = FORMAT.read_header(reader)
        assert shard.header_bytes == len(head)
        assert reader.bytes_read <= len(head) + NEXT_STEP
        assert rules(shard) == {"trailing"}


def test_a_small_header_is_read_at_once() -> None:
    reader = SparseReader("x.gguf", 5 * 10**9, {0: one_tensor().header()})
    FORMAT.read_header(reader)
    assert (reader.reads, reader.bytes_read) == (1, FIRST_STEP)


def test_a_tokenizer_is_counted_not_kept() -> None:
    data = tokenizer(120_000).bytes(32)
    reader = MeteredReader("x.gguf", data)
    tracemalloc.start()
    shard = FORMAT.read_header(reader)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * NEXT_STEP
    tokens = shard.metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, dict)
    texts = b"".join(
        struct.pack("<Q", len(text)) + text for text in (b"token%d" % n for n in range(120_000))
    )
    assert data[tokens.pop("at") : tokens.pop("end")] == texts
    assert tokens == {
        "array": "string",
        "length": 120_000,
        "first": [f"token{n}" for n in range(8)],
    }


def test_long_arrays_of_numbers_are_skipped_unread() -> None:
    head = one_tensor().header()
    # A key with an array of 40 MB of floats goes before the tensors.
    writer = one_tensor()
    array = writer.string("k") + writer.pack("IIQ", ARRAY, F32, 10_000_000)
    cut = head.index(writer.string("blk.0.attn_q.weight"))
    start = head[:16] + writer.pack("Q", 3) + head[24:cut] + array
    reader = SparseReader("x.gguf", 10**9, {0: start, len(start) + 40_000_000: head[cut:]})
    shard = FORMAT.read_header(reader)
    assert shard.metadata["k"] == {"array": "float32", "length": 10_000_000, "first": [0.0] * 8}
    assert shard.tensors[0].name == "blk.0.attn_q.weight"
    assert reader.bytes_read <= FIRST_STEP + NEXT_STEP


def test_a_size_that_only_the_first_read_tells() -> None:
    reader = MeteredReader("x.gguf", one_tensor().bytes(32), size_known=False)
    assert FORMAT.read_header(reader).findings == ()


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [2, 3])
def test_values_of_every_type(order: str, version: int) -> None:
    writer = GgufWriter(order, version)
    codes = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 10: "Q", 11: "q"}
    for kind, code in codes.items():
        writer.raw_key(f"k{kind}", kind, writer.pack(code, 100))
    writer.raw_key("yes", BOOL, b"\1").raw_key("half", F32, writer.pack("f", 0.5))
    writer.raw_key("double", 12, writer.pack("d", 1e300))
    writer.raw_key("nan", 12, writer.pack("d", float("nan")))
    writer.raw_key("nested", ARRAY, writer.pack("IQIQBB", ARRAY, 1, U8, 2, 7, 8))
    writer.text("text", "é").numbers("list", [1, 2, 3]).texts("tags", [])
    metadata = read(writer.bytes(0)).metadata
    assert {key: metadata[key] for key in metadata if not key.startswith("GGUF")} == {
        **{f"k{kind}": 100 for kind in codes},
        "yes": True,
        "half": 0.5,
        "double": 1e300,
        "nan": "nan",
        "nested": [[7, 8]],
        "text": "é",
        "list": [1, 2, 3],
        "tags": [],
    }
    json.dumps(dict(metadata), allow_nan=False)


def test_a_long_text_is_cut_and_that_is_noted() -> None:
    shard = read(GgufWriter().text("tokenizer.chat_template", "x" * 100_000).bytes(0))
    assert len(str(shard.metadata["tokenizer.chat_template"])) == 64 * 1024
    assert rules(shard) == {"long-text"}


def test_shapes_are_row_major_and_rows_fill_whole_blocks() -> None:
    (tensor,) = read(one_tensor(kind=12, shape=(3, 5, 512)).bytes(3 * 5 * 288)).tensors
    assert tensor.shape == (3, 5, 512)
    assert (tensor.elements, tensor.nbytes, tensor.dtype) == (7680, 3 * 5 * 288, "Q4_K")


def test_an_unknown_type_is_sized_by_its_neighbour() -> None:
    writer = GgufWriter().tensor("a", (64,), 99, 0).tensor("b", (8,), 0, 96)
    writer.tensor("c", (64,), 98, 128)
    shard = read(writer.bytes(160))
    assert [(t.dtype, t.elements, t.nbytes) for t in shard.tensors] == [
        ("GGML_TYPE_99", 64, 96),
        ("F32", 8, 32),
        ("GGML_TYPE_98", 64, 32),
    ]
    assert rules(shard) == {"unknown-dtype"}


# -- what is wrong -------------------------------------------------------------------------------


def two(first: int, second: int, data: int = 64) -> Shard:
    writer = GgufWriter().tensor("a", (8,), 0, first).tensor("b", (8,), 0, second)
    return read(writer.bytes(data))


@pytest.mark.parametrize(
    ("shard", "rule"),
    [
        (lambda: two(0, 33, 96), "misaligned"),
        (lambda: two(0, 0), "overlap"),
        (lambda: two(0, 128, 160), "hole"),
        (lambda: two(0, 32, 40), "out-of-range"),
        (lambda: two(0, 32, 40), "truncated"),
        (lambda: two(0, 2**62), "out-of-range"),
        (lambda: two(0, 32, 500), "trailing"),
        (lambda: read(one_tensor(kind=2, shape=(2, 40)).bytes(72)), "block-shape"),
        (lambda: read(GgufWriter().tensor(b"\xff", (8,), 0, 0).bytes(32)), "not-utf8"),
    ],
)
def test_what_does_not_fit_is_a_finding(shard: Any, rule: str) -> None:
    assert rule in rules(shard())


def test_a_sound_file_has_no_findings() -> None:
    assert two(0, 32).findings == ()
    assert read(one_tensor().bytes(32)).findings == ()


@pytest.mark.parametrize("version", [0, 1, 4, 2**31])
def test_other_versions_are_refused_by_name(version: int) -> None:
    with pytest.raises(UnsupportedFormatError, match="GGUF version"):
        read(b"GGUF" + struct.pack("<I", version) + bytes(64))


def test_files_before_gguf_are_refused_by_name() -> None:
    for magic in (b"lmgg", b"tjgg", b"fmgg"):
        with pytest.raises(UnsupportedFormatError, match="GGML"):
            read(magic + bytes(64))


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "empty-file"),
        (b"GGUF", "truncated-header"),
        (b"<html><body>", "html-page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "lfs-pointer"),
        (b"PK\3\4" + bytes(60), "other-format"),
        (one_tensor().header()[:-1], "truncated-header"),
        (one_tensor().header()[:60], "truncated-header"),
        (one_tensor().header(tensors=2), "truncated-header"),
        (one_tensor().u32("llama.block_count", 2).bytes(32), "duplicate-key"),
        (one_tensor().tensor("blk.0.attn_q.weight", (8,), 0, 32).bytes(64), "duplicate-name"),
        (one_tensor().u32("general.alignment", 0).bytes(32), "gguf-alignment"),
        (one_tensor().u32("general.alignment", 48).bytes(32), "gguf-alignment"),
        (one_tensor().text("general.alignment", "32").bytes(32), "gguf-alignment"),
        (GgufWriter().raw_key("k", 77, b"").bytes(0), "gguf-value-type"),
        (one_tensor(shape=(2**40, 2**40)).bytes(0), "shape"),
    ],
)
def test_malformed_headers_are_refused_with_a_rule(data: bytes, rule: str) -> None:
    assert refused(data) == rule


# -- attacks -------------------------------------------------------------------------------------


def test_attack_counts_beyond_the_file_allocate_nothing() -> None:
    huge = [2**63, 2**64 - 1, 10**6]
    tracemalloc.start()
    for count in huge:
        for data in (
            GgufWriter().header(tensors=count),
            GgufWriter().header(keys=count),
            GgufWriter().raw_key("k", STRING, struct.pack("<Q", count)).header(),
            GgufWriter().raw_key("k", ARRAY, struct.pack("<IQ", STRING, count)).header(),
            GgufWriter().raw_key("k", ARRAY, struct.pack("<IQ", F32, count)).header(),
            GgufWriter().raw_key("k", ARRAY, struct.pack("<IQ", ARRAY, count)).header(),
        ):
            with pytest.raises((FormatError, LimitError)):
                read(data)
            with pytest.raises((FormatError, LimitError)):
                FORMAT.read_header(MeteredReader("x.gguf", data, size_known=False))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


def test_attack_a_string_that_ends_beyond_a_huge_file() -> None:
    head = GgufWriter().raw_key("k", STRING, struct.pack("<Q", 2**40)).header()
    reader = SparseReader("x.gguf", 10**9, {0: head})
    with pytest.raises(FormatError):
        FORMAT.read_header(reader)
    assert reader.bytes_read <= FIRST_STEP


def test_attack_arrays_in_arrays_in_arrays() -> None:
    nested = struct.pack("<IQ", ARRAY, 1) * 50 + struct.pack("<IQ", U8, 0)
    with pytest.raises(LimitError):
        read(GgufWriter().raw_key("k", ARRAY, nested).bytes(0))


def test_attack_a_thousand_dimensions() -> None:
    with pytest.raises(LimitError):
        read(one_tensor(shape=(1,) * 1000).bytes(4))


def test_attack_a_tensor_name_of_a_megabyte() -> None:
    with pytest.raises(LimitError):
        read(GgufWriter().tensor("x" * 10**6, (8,), 0, 0).bytes(32))


def test_attack_key_values_that_add_up() -> None:
    writer = GgufWriter()
    for n in range(140):
        writer.text(f"k{n}", "x" * 65_000)
    with pytest.raises(LimitError):
        read(writer.bytes(0))


def test_attack_a_header_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # A sparse file of a terabyte is an array of empty strings. The true limit takes seconds.
    monkeypatch.setattr("hfinspect.formats.gguf.gguf.MAX_HEADER_BYTES", 16 * 1024 * 1024)
    count = 2**36
    head = GgufWriter().raw_key("k", ARRAY, struct.pack("<IQ", STRING, count)).header()
    reader = SparseReader("x.gguf", 2**40, {0: head})
    with pytest.raises(LimitError):
        FORMAT.read_header(reader)
    assert reader.bytes_read <= 16 * 1024 * 1024


# -- anything at all ---------------------------------------------------------------------------

SOUND = [path.read_bytes()[:4096] for path in FILES] + [one_tensor().bytes(32)]


@given(
    st.sampled_from(SOUND),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6),
    st.integers(0, 4096),
)
@settings(max_examples=examples(300))
def test_damaged_files_give_a_shard_or_an_error_of_ours(
    sound: bytes, flips: list[tuple[int, int]], keep: int
) -> None:
    data = bytearray(sound[:keep])
    for at, value in flips:
        if data:
            data[at % len(data)] = value
    check(bytes(data))


@given(st.binary(max_size=300), st.sampled_from([b"", b"GGUF\3\0\0\0", b"GGUF\0\0\0\2"]))
@settings(max_examples=examples(200))
def test_any_bytes_give_a_shard_or_an_error_of_ours(data: bytes, start: bytes) -> None:
    check(start + data)


@given(st.dictionaries(st.text(max_size=9), st.integers() | st.text() | st.lists(st.integers())))
def test_any_metadata_can_be_described(metadata: dict[str, object]) -> None:
    describe({**metadata, "general.architecture": "llama", "llama.block_count": metadata})


def check(data: bytes) -> None:
    try:
        shard = read(data)
    except HfinspectError as error:
        assert str(error)
    else:
        assert all(t.nbytes >= 0 and t.elements >= 0 for t in shard.tensors)
        json.dumps(dict(shard.metadata), allow_nan=False)


def test_unused_codes_are_really_unused() -> None:
    assert {4, 5}.isdisjoint(GGML_TYPES)
    assert U64 == 10
