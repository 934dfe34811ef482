"""Compressed files, archives and files of any name: what is bounded, and what is no pickle."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import tarfile
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.auditing.facts import other_files
from hfinspect.errors import HfinspectError
from hfinspect.formats.base import BytesReader
from hfinspect.formats.torch import unpacking
from hfinspect.formats.torch.torch import scan_file

from ..auditing.sound import made, write
from ..examples import examples
from ..formats.torch_files import state_zip
from ..hub_repos import StoredFile
from ..hub_server import HubServer
from ..sources.hub_support import client
from .evil import EVIL_PICKLE
from .odd_spellings import odd


def severities(folder: Path) -> dict[tuple[str, str | None], str]:
    """(code, file) -> severity"""
    return {(f.code, f.file): f.severity for f in hfinspect.audit(folder).findings}


@pytest.mark.parametrize("press", [zlib.compress, gzip.compress, bz2.compress, lzma.compress])
def test_unpacking_is_bounded(press: object, tmp_path: Path) -> None:
    """A small file of gigabytes takes neither long nor much memory, and is said to be unread."""
    write(made("single"), tmp_path)
    piece = press(bytes(20 * 1024 * 1024))  # type: ignore[operator]
    (tmp_path / "m.joblib").write_bytes(piece * 10)
    begin = time.monotonic()
    assert severities(tmp_path)["HI403", "m.joblib"] in ("warning", "error")
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    ("magic", "name"), [(b"\x04\x22\x4d\x18", "LZ4"), (b"\x28\xb5\x2f\xfd", "Zstandard")]
)
def test_what_is_not_unpacked_is_an_error(magic: bytes, name: str, tmp_path: Path) -> None:
    """joblib and pandas unpack it, and unpickle all of it."""
    write(made("single"), tmp_path)
    (tmp_path / "m.joblib").write_bytes(magic + bytes(99))
    (finding,) = (f for f in hfinspect.audit(tmp_path).findings if f.code == "HI403")
    assert (finding.severity, name in finding.text) == ("error", True)


def test_an_archive_with_large_weights_is_looked_through(tmp_path: Path) -> None:
    """NeMo's: a tar archive whose member is a torch file of any size, here 200 MB of holes."""
    write(made("single"), tmp_path)
    weights = state_zip({"a.weight": (2, 2)})
    size = 200 * 1024 * 1024
    info = tarfile.TarInfo("big.npy")
    info.size = size
    head = info.tobuf()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        inner = tarfile.TarInfo("model_weights.ckpt")
        inner.size = len(weights)
        archive.addfile(inner, io.BytesIO(weights))
    with (tmp_path / "m.nemo").open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
        file.seek(len(head) + size)
        file.write(out.getvalue())
    assert hfinspect.audit(tmp_path).failing("error") == ()


TEXTS = {
    "vocab.txt": b"ca\ncb\ncc\n",
    "requirements.txt": b"certifi\nclick\nnumpy\n",
    "merges.txt": b"#version: 0.2\ni n\nt h\n",
    "a.md": b"import os\nos.system\n(see)\nR.\n",
    "b.md": b"i am\na file\n(tR.",
    "notes": b"",
    "one": b".",
    "two": b"N.",
    "c.csv": b"S'a'\n.",
    "d": b"(lp0\nS'a'\np1\na.",
    "z.txt": b"x\x9c is no zlib",
    "x.txt": b"]\0\0 nor LZMA",
    "weights.dat": bytes(range(256)) * 20,
    "p.dat": b"\x80\x04" + bytes(40),
    "vocab.txt.gz": gzip.compress(b"ca\ncb\ncc\n"),
    "page.gz": gzip.compress(b"<html></html>"),
    "bad.gz": b"\x1f\x8b" + bytes(40),
    "data.xz": lzma.compress(b"{}"),
    "pointer.gz": gzip.compress(b"version https://git-lfs.github.com/spec/v1\n"),
}


def test_text_and_numbers_are_no_pickles(tmp_path: Path) -> None:
    write(made("single"), tmp_path)
    for name, content in TEXTS.items():
        (tmp_path / name).write_bytes(content)
    assert [f for f in hfinspect.audit(tmp_path).findings if f.code.startswith("HI4")] == []


def test_on_the_hub_a_few_files_are_sniffed_and_the_rest_is_named(hub: HubServer) -> None:
    files: dict[str, bytes | StoredFile] = {**made("single"), "evil": EVIL_PICKLE}
    evil = gzip.compress(EVIL_PICKLE)
    files["notes.txt"] = StoredFile(evil, len(evil), lfs=True)
    files |= {f"images/{n}.png": b"\x89PNG" + bytes(99) for n in range(100)}
    hub.add("org/m", files)
    result = hfinspect.audit("org/m", client=client(hub))
    assert {f.file for f in result.findings if f.code == "HI401"} == {"evil", "notes.txt"}
    left = 102 - other_files.MAX_REMOTE_SNIFFED
    assert any(f"{left} more files" in item.what for item in result.unchecked)
    assert [f.code for f in result.failing("warning") if f"{left} more" in f.text] == ["HI422"]
    assert hub.meter.count("hub") <= 12 + other_files.MAX_REMOTE_SNIFFED


def test_an_archive_of_many_members_is_bounded_on_the_hub(hub: HubServer) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for number in range(200):
            info = tarfile.TarInfo(f"{number}.wav")
            info.size = 200_000
            archive.addfile(info, io.BytesIO(bytes(200_000)))
    data = out.getvalue()
    hub.add("org/m", {**made("single"), "m.nemo": StoredFile(data, len(data), lfs=True)})
    result = hfinspect.audit("org/m", client=client(hub))
    severities = {f.severity for f in result.findings if f.code == "HI403"}
    assert severities == {"warning"}
    assert hub.meter.count("cdn") <= other_files.MAX_REMOTE_READS + 2


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from([s.data for s in odd() if s.category == "odd archives"]), st.data())
def test_any_damage_to_an_archive_is_an_error_of_ours_or_none(
    archive: bytes, data: st.DataObject
) -> None:
    damaged = bytearray(archive)
    for _ in range(3):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(HfinspectError):
        scan_file(BytesReader("m", bytes(damaged)))


def test_limits_are_as_said() -> None:
    assert unpacking.MAX_RATIO > 1_032  # what DEFLATE can reach
    assert unpacking.FREE_BYTES < unpacking.MAX_UNPACKED_BYTES
