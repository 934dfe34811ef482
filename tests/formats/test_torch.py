"""The reader of PyTorch files: what it costs, what it refuses, and what it notices."""

from __future__ import annotations

import io
import pickle
import struct
import tarfile
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.core.checkpoint import Shard
from hfinspect.errors import FormatError, HfinspectError, LimitError, UnsupportedFormatError
from hfinspect.formats.base import BytesReader
from hfinspect.formats.torch.torch import FORMAT, scan_file

from ..examples import examples
from .readers import MeteredReader, SparseReader
from .torch_files import (
    FLOAT,
    ZipWriter,
    legacy,
    number,
    numbers,
    pickled,
    state_pickle,
    state_zip,
    storage,
    tensor,
    text,
    torch_zip,
)

SHAPES = {"a.weight": (3, 4), "a.bias": (3,)}


def read(data: bytes, name: str = "pytorch_model.bin") -> Shard:
    return FORMAT.read_header(BytesReader(name, data))


def rules(shard: Shard, severity: str | None = None) -> set[str]:
    return {f.rule for f in shard.findings if severity in (None, f.severity)}


def refused(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        read(data)
    return caught.value.rule


# -- what is read ---------------------------------------------------------------------------------


def test_a_state_dict_in_a_zip_archive() -> None:
    shard = read(state_zip(SHAPES))
    assert [(t.name, t.dtype, t.shape, t.elements, t.nbytes) for t in shard.tensors] == [
        ("a.weight", "F32", (3, 4), 12, 48),
        ("a.bias", "F32", (3,), 3, 12),
    ]
    assert shard.findings == ()
    assert shard.metadata["byteorder"] == "little"


@pytest.mark.parametrize("prefix", ["archive", "x", "pytorch_model", "ä b"])
def test_the_archive_may_have_any_prefix(prefix: str) -> None:
    data = torch_zip(state_pickle({"w": (2,)}), {"0": 8}, prefix=prefix)
    assert read(data).tensors[0].nbytes == 8


def test_a_deflated_pickle_is_inflated() -> None:
    shard = read(torch_zip(state_pickle(SHAPES), {"0": 48, "1": 12}, deflate=True))
    assert len(shard.tensors) == 2
    assert shard.findings == ()


def test_a_zip64_archive() -> None:
    writer = ZipWriter()
    writer.add("archive/data.pkl", state_pickle({"w": (2,)}))
    writer.add("archive/data/0", bytes(8))
    assert len(read(writer.bytes(b"a comment", zip64=True)).tensors) == 1


def test_archives_of_the_zipfile_module_are_read_too() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/data.pkl", state_pickle({"w": (2,)}))
        with archive.open("m/data/0", "w", force_zip64=True) as member:
            member.write(bytes(8))
    assert read(buffer.getvalue()).findings == ()


def test_a_legacy_file_with_offsets() -> None:
    data = legacy(state_pickle(SHAPES), {"0": 12, "1": 3})
    shard = read(data)
    weight, bias = shard.tensors
    assert bias.offset == len(data) - 12
    assert weight.offset == len(data) - 12 - 8 - 48
    assert shard.findings == ()
    assert shard.metadata["legacy"] is True


def test_a_legacy_storage_view_begins_inside_its_storage() -> None:
    view = text("7") + number(4) + number(2)
    inner = b"(" + text("storage") + FLOAT + text("0") + text("cpu") + number(6) + b"(" + view
    opcodes = (
        b"ctorch._utils\n_rebuild_tensor\n("
        + inner
        + b"ttQ"
        + number(0)
        + numbers([2])
        + numbers([1])
        + b"tR"
    )
    data = legacy(pickled({"part": opcodes, "all": tensor("0", (6,))}), {"0": 6})
    part, whole = read(data).tensors
    assert part.offset is not None
    assert whole.offset is not None
    assert part.offset == whole.offset + 16
    assert str(part.storage) == "0+16:8"


@pytest.mark.parametrize("key", ["state_dict", "model", "module", "model_state_dict"])
def test_the_model_is_found_under_its_usual_keys(key: str) -> None:
    inner = b"}(" + text("w") + tensor("0", (2, 2)) + text("b") + tensor("1", (2,)) + b"u"
    rest = b"}" + text("step") + tensor("2", (9,)) + b"s"
    data = torch_zip(
        pickled({key: inner, "extra": rest, "epoch": b"K\x03"}), {"0": 16, "1": 8, "2": 36}
    )
    shard = read(data)
    assert [t.name for t in shard.tensors] == ["w", "b"]
    assert shard.metadata["state_dict"] == key
    assert shard.metadata["other_keys"] == ["extra", "epoch"]
    assert shard.metadata["other_parts"] == {"extra": {"tensors": 1, "elements": 9, "bytes": 36}}


def test_a_submodule_called_model_is_not_mistaken_for_the_model() -> None:
    inner = b"}" + text("w") + tensor("0", (2,)) + b"s"
    entries = {"model": inner, "x": tensor("1", (2,)), "y": tensor("2", (2,))}
    shard = read(torch_zip(pickled(entries), {"0": 8, "1": 8, "2": 8}))
    assert [t.name for t in shard.tensors] == ["model.w", "x", "y"]
    assert shard.metadata["state_dict"] == ""


def test_a_lone_tensor_and_a_list_have_names() -> None:
    lone = read(torch_zip(b"\x80\x02" + tensor("0", (2,)) + b".", {"0": 8}))
    assert [t.name for t in lone.tensors] == ["tensor"]
    pair = read(torch_zip(b"\x80\x02" + tensor("0", (2,)) + b"2\x86.", {"0": 8}))
    assert [t.name for t in pair.tensors] == ["0", "1"]
    assert pair.tensors[0].storage == pair.tensors[1].storage


# -- what it costs ----------------------------------------------------------------------------


def sparse_archive(tensors: int, total: int, stem: str = "layers") -> SparseReader:
    writer = ZipWriter()
    count = total // tensors // 4
    writer.add("m/data.pkl", state_pickle({f"{stem}.{n}.weight": (count,) for n in range(tensors)}))
    for n in range(tensors):
        writer.add(f"m/data/{n}", b"", size=4 * count)
    size, pieces = writer.finish()
    return SparseReader("pytorch_model.bin", size, pieces)


@pytest.mark.parametrize(
    ("total", "tensors", "reads"), [(10**10, 300, 2), (10**11, 2000, 4), (3 * 10**5, 10, 2)]
)
def test_a_huge_file_costs_few_reads_and_a_few_hundred_kilobytes(
    total: int, tensors: int, reads: int
) -> None:
    reader = sparse_archive(tensors, total)
    shard = FORMAT.read_header(reader)
    assert len(shard.tensors) == tensors
    assert shard.findings == ()
    assert reader.reads <= reads
    assert reader.bytes_read < 750_000


def test_a_directory_longer_than_the_tail_costs_one_read_more() -> None:
    reader = sparse_archive(6_000, 10**10)
    assert len(FORMAT.read_header(reader).tensors) == 6_000
    assert reader.reads <= 4
    assert reader.bytes_read < 2_500_000


def test_a_pickle_behind_the_storages_is_read_alone() -> None:
    writer = ZipWriter()
    writer.add("m/data/0", b"", size=4 * 10**9)
    writer.add("m/data.pkl", state_pickle({"w": (10**9,)}), extra=b"FB" + b"\x3c\0" + b"Z" * 60)
    writer.add("m/data/1", b"", size=10**9)
    size, pieces = writer.finish()
    reader = SparseReader("m.pt", size, pieces)
    shard = FORMAT.read_header(reader)
    assert shard.tensors[0].nbytes == 4 * 10**9
    assert rules(shard) == {"storage-unused"}
    assert reader.reads == 3


def test_a_legacy_file_is_read_forward_only_as_far_as_its_pickles() -> None:
    head = legacy(state_pickle({f"l.{n}": (10,) for n in range(3_000)}), {})
    reader = SparseReader("old.bin", 10**10, {0: head})
    shard = FORMAT.read_header(reader)
    assert len(shard.tensors) == 3_000
    assert reader.reads <= 3
    assert reader.bytes_read < 6 * len(head)


def test_a_size_that_only_the_first_read_tells() -> None:
    reader = MeteredReader("m.bin", state_zip({"w": (100_000,)}), size_known=False)
    assert len(FORMAT.read_header(reader).tensors) == 1
    assert len(reader.asked) == 2


# -- what does not fit ---------------------------------------------------------------------------


def archive(opcodes: bytes, storages: dict[str, int]) -> Shard:
    return read(torch_zip(pickled({"w": opcodes}), storages))


@pytest.mark.parametrize(
    ("shard", "rule"),
    [
        (lambda: archive(tensor("0", (4,)), {"0": 12}), "storage-size"),
        (lambda: archive(tensor("0", (4,)), {}), "storage-missing"),
        (lambda: archive(tensor("0", (4,)), {"0": 16, "1": 4}), "storage-unused"),
        (lambda: archive(tensor("0", (4,), count=3), {"0": 12}), "out-of-storage"),
        (
            lambda: archive(tensor("0", (2, 2), stride=(2, 100), count=4), {"0": 16}),
            "out-of-storage",
        ),
        (lambda: archive(tensor("0", (2,), offset=3, count=4), {"0": 16}), "out-of-storage"),
        (lambda: archive(tensor("0", (2,), count=4), {"0": 16}), "storage-larger"),
        (lambda: archive(tensor("0", (2, 2), stride=(0, 1), count=2), {"0": 8}), "expanded-view"),
        (lambda: archive(b"}", {}), "no-tensors"),
        (lambda: read(state_zip(SHAPES) + b"more"), "trailing"),
        (lambda: read(legacy(state_pickle({"w": (4,)}), {"0": 4}) + b"more"), "trailing"),
        (lambda: read(legacy(state_pickle({"w": (4,)}), {"0": 4})[:-1]), "truncated"),
        (lambda: read(legacy(state_pickle({"w": (4,)}), {})), "storage-missing"),
        (lambda: archive(b"cnumpy\ndtype\n", {}), "pickle-global"),
    ],
)
def test_what_does_not_fit_is_a_finding(shard: Callable[[], Shard], rule: str) -> None:
    assert rule in rules(shard())


def test_partly_shared_storages_are_told_from_tied_ones() -> None:
    base = {
        "all": tensor("0", (4,)),
        "tied": tensor("0", (2, 2)),
        "part": tensor("0", (3,), offset=1, count=4),
    }
    shard = read(torch_zip(pickled(base), {"0": 16}))
    shared = [f.tensor for f in shard.findings if f.rule == "shared-storage"]
    assert shared == ["part"]
    everything, tied, part = (t.storage for t in shard.tensors)
    assert everything == tied != part


def test_an_empty_slice_may_begin_beyond_its_storage() -> None:
    shard = archive(tensor("0", (0, 2), offset=4, count=4), {"0": 16})
    assert rules(shard, "error") == set()
    assert shard.tensors[0].storage is None


def test_slices_of_one_storage_that_do_not_touch_are_no_finding() -> None:
    halves = {"q": tensor("0", (2,), count=4), "k": tensor("0", (2,), offset=2, count=4)}
    shard = read(torch_zip(pickled(halves), {"0": 16}))
    assert shard.findings == ()
    assert len({t.storage for t in shard.tensors}) == 2


def test_a_wrong_checksum_is_a_warning_because_torch_can_leave_it_out() -> None:
    writer = ZipWriter()
    writer.add("m/data.pkl", state_pickle({"w": (2,)}), crc=1)
    writer.add("m/data/0", bytes(8))
    assert rules(read(writer.bytes()), "warning") == {"zip-checksum"}


# -- what is refused ------------------------------------------------------------------------------


def test_other_files_are_refused_by_name() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive_file:
        archive_file.addfile(tarfile.TarInfo("storages"), io.BytesIO(b""))
    npz = io.BytesIO()
    with zipfile.ZipFile(npz, "w") as archive_file:
        archive_file.writestr("w.npy", b"")
    cases = {
        buffer.getvalue(): "tar format",
        npz.getvalue(): "NumPy .npz",
        b"\x89HDF\r\n\x1a\n" + bytes(99): "HDF5",
        b"\x80\x03csklearn.svm._classes\nSVC\n)\x81.": "scikit-learn",
        pickle.dumps({"a": 1}): "a Python pickle",
    }
    for data, words in cases.items():
        with pytest.raises(UnsupportedFormatError) as caught:
            read(data)
        assert words in str(caught.value)
    with pytest.raises(FormatError, match="is a GGUF file by its first bytes"):
        read(b"GGUF" + bytes(99))


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "empty-file"),
        (b"<!doctype html>", "html-page"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "lfs-pointer"),
        (b"\0" * 4096, "zero-filled"),
        (b"certainly no weights", "torch-magic"),
        (state_zip(SHAPES)[:-30], "zip-directory"),
        (state_zip(SHAPES)[:200], "zip-directory"),
        (torch_zip(state_pickle(SHAPES)[:-40], {}), "pickle-truncated"),
        (legacy(state_pickle(SHAPES)[:-40], {})[:150], "pickle-truncated"),
        (torch_zip(state_pickle(SHAPES), {}, members={"data.pkl": b"N."}), "zip-duplicate"),
    ],
)
def test_damaged_files_are_refused_with_a_rule(data: bytes, rule: str) -> None:
    assert refused(data) == rule


@pytest.mark.parametrize(
    "opcodes",
    [
        b"ctorch._utils\n_rebuild_tensor_v2\n)R",
        b"ctorch._utils\n_rebuild_tensor_v2\n(NNNNNNtR",
        tensor("0", (2,), stride=(1, 1)),
        b"ctorch._utils\n_rebuild_tensor\n(" + storage("0", 4) + b"J\xff\xff\xff\xff))tR",
        b"ctorch._utils\n_rebuild_tensor\n(" + storage("0", 4) + b"K\x00](K\x02Net)tR",
        tensor("0", (2**62, 2**62), count=1, stride=(1, 1)),
        tensor("0", (1,) * 65),
        tensor("0", (2,), kind=b"cnumpy\nfloat32\n"),
        b"ctorch._utils\n_rebuild_sparse_tensor\n(Nt)tR",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(NNNNtR",
        b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat33\n))\x89tR",
    ],
)
def test_tensors_described_without_sense_are_refused(opcodes: bytes) -> None:
    assert refused(torch_zip(pickled({"w": opcodes}), {"0": 8})) == "pickle-malformed"


# -- attacks --------------------------------------------------------------------------------------


def test_attack_a_deflate_bomb_is_not_inflated() -> None:
    writer = ZipWriter()
    writer.add("m/data.pkl", bytes(10_000_000), deflate=True, size=1000)
    with pytest.raises(LimitError):
        read(writer.bytes())


def test_attack_a_pickle_of_a_gigabyte_is_not_fetched() -> None:
    writer = ZipWriter()
    writer.add("m/data.pkl", b"", size=10**9)
    size, pieces = writer.finish()
    reader = SparseReader("m.pt", size, pieces)
    with pytest.raises(LimitError):
        FORMAT.read_header(reader)
    assert reader.bytes_read < 500_000


def test_attack_members_that_overlap_are_noticed() -> None:
    writer = ZipWriter()
    writer.add("m/data.pkl", state_pickle({"w": (2,)}))
    writer.add("m/data/0", bytes(8))
    data = writer.bytes()
    # The directory's second entry is made to point at the first member.
    where = data.rindex(b"PK\x01\x02") + 42
    shard = read(data[:where] + struct.pack("<L", 0) + data[where + 4 :])
    assert "zip-overlap" in rules(shard, "error")


def test_attack_a_directory_that_claims_millions_of_members() -> None:
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFE, 0xFFFE, 10_000, 0, 0)
    assert refused(b"PK\x03\x04" + bytes(20_000) + tail) == "zip-directory"
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**40, 2**40, 46, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 100, 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, *[0xFFFF] * 2, *[0xFFFFFFFF] * 2, 0)
    with pytest.raises(LimitError):
        read(b"PK\x03\x04" + bytes(96) + record + locator + end)


def test_attack_a_local_header_with_another_name() -> None:
    data = state_zip({"w": (2,)}).replace(b"archive/data.pkl", b"archive/else.pkl", 1)
    assert refused(data) == "zip-local-header"


def test_attack_a_huge_declared_pickle_in_a_legacy_file() -> None:
    head = legacy(b"\x80\x02X\xff\xff\xff\x7f", {})
    reader = SparseReader("m.bin", 10**10, {0: head})
    with pytest.raises(LimitError):
        FORMAT.read_header(reader)
    assert reader.bytes_read < 500_000


def test_attack_system_call_in_a_checkpoint_is_listed_and_not_run(tmp_path: object) -> None:
    evil = b"cos\nsystem\n(S'exit 1'\ntR"
    shard = read(torch_zip(pickled({"w": tensor("0", (2,)), "x": evil}), {"0": 8}))
    assert [t.name for t in shard.tensors] == ["w"]
    (finding,) = shard.findings
    assert finding.rule == "pickle-global"
    assert "'os.system'" in finding.text
    assert "os.system" in str(shard.metadata["globals"])


def test_attack_a_pickle_beside_data_pkl_is_scanned() -> None:
    data = torch_zip(
        state_pickle({"w": (2,)}), {"0": 8}, members={"hidden/x.pkl": b"cos\nsystem\n."}
    )
    scans = dict(scan_file(BytesReader("m.bin", data)))
    names = {member: [g.dotted for g in scan.globals] for member, scan in scans.items()}
    assert names["archive/hidden/x.pkl"] == ["os.system"]


def test_scanning_any_file_for_names() -> None:
    plain = pickle.dumps({"a": eval}) + pickle.dumps(len)
    names = [g.dotted for _, scan in scan_file(BytesReader("x.pkl", plain)) for g in scan.globals]
    assert names == ["builtins.eval", "builtins.len"]
    old = legacy(state_pickle({"w": (2,)}), {"0": 2})
    names = [g.dotted for _, scan in scan_file(BytesReader("m.bin", old)) for g in scan.globals]
    assert "torch._utils._rebuild_tensor_v2" in names
    assert scan_file(BytesReader("x.bin", b"\x89HDF\r\n\x1a\n" + bytes(99))) == []


# -- anything at all ----------------------------------------------------------------------------

SOUND = [
    state_zip(SHAPES),
    torch_zip(state_pickle(SHAPES), {"0": 48, "1": 12}, deflate=True),
    legacy(state_pickle(SHAPES), {"0": 12, "1": 3}),
]


@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"\x80\x02", SOUND[2][:60]]))
@settings(max_examples=examples(200))
def test_any_bytes_give_a_shard_or_an_error_of_ours(data: bytes, start: bytes) -> None:
    check(start + data)


@given(
    st.sampled_from(SOUND),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6),
    st.integers(0, 3000),
)
@settings(max_examples=examples(400))
def test_damaged_files_give_a_shard_or_an_error_of_ours(
    sound: bytes, flips: list[tuple[int, int]], keep: int
) -> None:
    data = bytearray(sound[:keep] if keep < 2000 else sound)
    for at, value in flips:
        if data:
            data[at % len(data)] = value
    check(bytes(data))


def check(data: bytes) -> None:
    reader = MeteredReader("x.bin", data)
    try:
        shard = FORMAT.read_header(reader)
    except HfinspectError as error:
        assert str(error)
    else:
        assert all(t.nbytes >= 0 and t.elements >= 0 for t in shard.tensors)
    assert len(reader.asked) <= 6


def test_a_bomb_without_tensors_is_walked_once() -> None:
    """Sixty dicts, each twice in the next: 2**60 paths to nothing."""
    body = b"".join(b"q%c}(U\x01ah%cU\x01bh%cu" % (level, level, level) for level in range(60))
    shard = read(torch_zip(b"\x80\x02}" + body + b".", {}))
    assert rules(shard) == {"no-tensors"}


def test_a_part_reached_through_a_cycle_keeps_its_tensors() -> None:
    """a holds b and a tensor, b holds a; b is met again, outside, where it leads to the tensor."""
    inner = (
        b"}q\x01(" + text("b") + b"}q\x02" + text("a") + b"h\x01s" + text("t") + tensor("0", [2])
    )
    shard = read(
        torch_zip(b"\x80\x02}(" + text("x") + inner + b"u" + text("y") + b"h\x02u.", {"0": 8})
    )
    assert [t.name for t in shard.tensors] == ["x.t", "y.a.t"]
