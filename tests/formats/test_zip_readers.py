"""Archives that two readers read differently are refused, and looked at in every reading."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.errors import HfinspectError
from hfinspect.formats.base import BytesReader, Reader
from hfinspect.formats.torch import local_headers
from hfinspect.formats.torch.torch import FORMAT, scan_file
from hfinspect.formats.torch.zip_directory import name_doubts, read_directories
from hfinspect.formats.window import Windows

from ..examples import examples
from ..hub_server import HubServer
from ..sources.hub_support import client
from ..trust.attacking_archives import two_archives
from ..trust.attacks import samples
from ..trust.benign import benign_files
from ..trust.evil import BENIGN, EVIL_PICKLE
from .torch_files import ZipWriter, state_zip, torch_zip

SHAPES = {"a.weight": (2, 2)}
TRICKS = [s for s in samples() if s.category == "archives that readers differ on"]
#: Not tricks of the archive itself: every reader finds the same pickle in them.
SAME = {
    "bytes after the archive",
    "a long comment",
    "a wrong checksum",
    "capitals",
    "a first member that hides",
}


def differences(data: bytes) -> list[str]:
    directories, names = read_directories(Windows(BytesReader("x.bin", data)))
    return names + [text for directory in directories for text in name_doubts(directory)]


@pytest.mark.parametrize("trick", [t for t in TRICKS if t.title not in SAME], ids=lambda t: t.title)
def test_readers_that_differ_are_an_error(trick: object, tmp_path: Path) -> None:
    data = trick.data  # type: ignore[attr-defined]
    (tmp_path / "pytorch_model.bin").write_bytes(data)
    codes = {f.code for f in hfinspect.audit(str(tmp_path)).findings if f.severity == "error"}
    assert codes & {"HI403", "HI124", "HI111"}
    with pytest.raises(HfinspectError):
        hfinspect.inspect(str(tmp_path))


@pytest.mark.parametrize("comment", [True, False])
@pytest.mark.parametrize("evil_is_last", [True, False])
def test_every_directory_is_looked_at(comment: bool, evil_is_last: bool) -> None:
    parts = (BENIGN, EVIL_PICKLE) if evil_is_last else (EVIL_PICKLE, BENIGN)
    scans = scan_file(BytesReader("x.bin", two_archives(*parts, comment=comment)))
    assert "os.system" in {item.dotted for _, scan in scans for item in scan.globals}
    assert any(scan.error is not None for _, scan in scans)


def test_what_torch_and_zipfile_write_has_one_reading() -> None:
    for name, data in benign_files().items():
        if data.startswith(b"PK"):
            assert differences(data) == [], name
    assert differences(state_zip(SHAPES)) == []


def test_an_archive_inside_of_a_member_is_no_second_directory() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/model.json", "{}")
        archive.writestr("a/sample_inputs/model.pt", state_zip(SHAPES))
    assert differences(out.getvalue()) == []
    assert scan_file(BytesReader("x.pt2", out.getvalue()))


def test_the_last_of_many_end_records_is_looked_at() -> None:
    decoys = b"PK\x05\x06".ljust(22, b"\0") * 40
    data = ZipWriter().bytes()
    whole = torch_zip(EVIL_PICKLE, {}, members={"notes.bin": decoys})
    scans = scan_file(BytesReader("x.bin", whole))
    assert "os.system" in {item.dotted for _, scan in scans for item in scan.globals}
    assert any("end records" in str(scan.error) for _, scan in scans)
    assert differences(data) == []


def test_a_large_packed_member_under_any_name_is_looked_into() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/weights", EVIL_PICKLE[:-1] + b"0" + b"N0" * 700_000 + b"N.")
    scans = scan_file(BytesReader("x.mar", out.getvalue()))
    assert "os.system" in {item.dotted for _, scan in scans for item in scan.globals}


def test_names_that_differ_in_case_alone() -> None:
    writer = ZipWriter()
    for member in ("archive/data.pkl", "archive/DATA.PKL", "archive/version"):
        writer.add(member, BENIGN)
    assert any("but for case" in text for text in differences(writer.bytes()))
    writer = ZipWriter()
    for member in ("archive/data.pkl", "archive\\data.pkl"):
        writer.add(member, BENIGN)
    assert any("slashes" in text for text in differences(writer.bytes()))


def test_a_name_that_ends_early_and_one_with_another_spelling() -> None:
    writer = ZipWriter()
    writer.add("archive/data.pkl\0.txt", BENIGN)
    assert any("ends early" in text for text in differences(writer.bytes()))
    data = state_zip(SHAPES)
    at = data.index(b"PK\x01\x02")
    extra = struct.pack("<2H", 0x7075, 5) + bytes(5)
    length = 46 + struct.unpack_from("<H", data, at + 28)[0]
    changed = bytearray(data[: at + length] + extra + data[at + length :])
    struct.pack_into("<H", changed, at + 30, len(extra))
    end = changed.rindex(b"PK\x05\x06")
    struct.pack_into("<L", changed, end + 12, struct.unpack_from("<L", changed, end + 12)[0] + 9)
    assert any("another name" in text for text in differences(bytes(changed)))


def _local(data: bytes, member: bytes) -> int:
    """Where the local header of a member begins."""
    return data.index(b"PK\x03\x04", data.index(member) - 40)


LOCAL_CHANGES: dict[str, tuple[int, bytes]] = {
    "name": (30, b"z"),
    "method": (8, b"\x08\0"),
    "checksum": (14, b"1234"),
    "sizes": (18, struct.pack("<2L", 3, 3)),
    "one size": (22, struct.pack("<L", 15)),
    "encrypted": (6, b"\x01\0"),
    "no header": (0, b"PK\x03\x05"),
    "length of the name": (26, b"\xff\x7f"),
}


@pytest.mark.parametrize("how", LOCAL_CHANGES)
def test_local_headers_of_all_members_are_those_of_the_directory(how: str, tmp_path: Path) -> None:
    """Also of storages, which nothing else makes it read."""
    data = bytearray(torch_zip(BENIGN, {"0": 16}))
    offset, piece = LOCAL_CHANGES[how]
    at = _local(bytes(data), b"archive/data/0") + offset
    data[at : at + len(piece)] = piece
    (tmp_path / "pytorch_model.bin").write_bytes(data)
    findings = [f for f in hfinspect.audit(tmp_path).findings if f.code == "HI403"]
    assert [(f.severity, "local header" in f.text) for f in findings] == [("error", True)]


def test_sizes_that_follow_the_data_are_no_difference(tmp_path: Path) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

    out = Pipe()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/data.pkl", BENIGN)
        archive.writestr("a/big", bytes(9))
    data = out.getvalue()
    assert data[6] & 8
    assert all(scan.error is None for _, scan in scan_file(BytesReader("x.bin", data)))
    path = tmp_path / "wide.zip"
    with (
        zipfile.ZipFile(path, "w") as archive,
        archive.open("a/data.pkl", "w", force_zip64=True) as member,
    ):
        member.write(BENIGN)
    wide = path.read_bytes()
    assert all(scan.error is None for _, scan in scan_file(BytesReader("x.bin", wide)))
    if sys.hexversion < 0x030B04F0:  # before 3.11.4 the sizes are written otherwise
        return
    written = struct.pack("<Q", len(BENIGN))
    other = wide.replace(written, struct.pack("<Q", 5), 1)
    assert any("other sizes" in str(s.error) for _, s in scan_file(BytesReader("x.bin", other)))


def test_local_headers_beyond_the_limit_are_said_to_be_unread(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local_headers, "MAX_LOCAL_HEADERS", 2)
    (tmp_path / "pytorch_model.bin").write_bytes(state_zip(SHAPES))
    (finding,) = (f for f in hfinspect.audit(tmp_path).findings if f.code == "HI403")
    assert (finding.severity, "not compared" in finding.text) == ("warning", True)


def test_on_the_hub_local_headers_of_unread_members_are_said_to_be_unchecked(
    hub: HubServer,
) -> None:
    hub.add("org/m", {"pytorch_model.bin": state_zip(SHAPES)})
    uncheckeds = hfinspect.audit("org/m", client=client(hub)).unchecked
    assert any("local headers" in item.what for item in uncheckeds)


@pytest.mark.parametrize("count", [0, 3])
def test_members_behind_those_that_are_counted_are_looked_at(count: int, tmp_path: Path) -> None:
    """zipfile reads the whole directory, PyTorch's reader as many members as are counted."""
    writer = ZipWriter()
    for member in ("archive/data.pkl", "archive/byteorder", "archive/version"):
        writer.add(member, BENIGN if member.endswith("pkl") else b"3")
    writer.add("archive/handler.pkl", EVIL_PICKLE)
    data = bytearray(writer.bytes())
    end = data.rindex(b"PK\x05\x06")
    struct.pack_into("<2H", data, end + 8, count, count)
    for file in ("pytorch_model.bin", "model.mar"):
        (tmp_path / file).write_bytes(data)
    findings = hfinspect.audit(tmp_path).findings
    for file in ("pytorch_model.bin", "model.mar"):
        codes = {f.code for f in findings if f.file == file and f.severity == "error"}
        assert {"HI401", "HI403"} <= codes
    (tmp_path / "pytorch_model.bin").rename(tmp_path / "model.pt")
    with pytest.raises(HfinspectError):
        hfinspect.inspect(str(tmp_path))


def test_an_end_record_that_counts_in_two_ways() -> None:
    data = bytearray(state_zip(SHAPES))
    struct.pack_into("<H", data, data.rindex(b"PK\x05\x06") + 8, 1)
    assert any("twice, and differently" in text for text in differences(bytes(data)))


def test_a_pickle_with_an_archive_behind_it_is_both() -> None:
    data = BENIGN + torch_zip(EVIL_PICKLE, {})
    scans = scan_file(BytesReader("x.pkl", data))
    assert "os.system" in {item.dotted for _, scan in scans for item in scan.globals}


SEEDS = [state_zip(SHAPES), two_archives(BENIGN, EVIL_PICKLE, comment=True), TRICKS[3].data]


@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 900), st.binary(max_size=4))))
@settings(max_examples=examples(200))
def test_any_archive_is_read_or_refused_in_our_words(
    data: bytes, patches: list[tuple[int, bytes]]
) -> None:
    changed = bytearray(data)
    for back, piece in patches:
        at = max(0, len(changed) - back)
        changed[at : at + len(piece)] = piece
    _read_or_refuse(scan_file, bytes(changed))
    _read_or_refuse(FORMAT.read_header, bytes(changed))


def _read_or_refuse(read: Callable[[Reader], object], data: bytes) -> None:
    try:
        read(BytesReader("x.bin", data))
    except HfinspectError as error:
        assert "x.bin" in str(error)
