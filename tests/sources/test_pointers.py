"""Directories with pointers of Git LFS in place of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.errors import PointerError
from hfinspect.sources.pointers import MAX_POINTER, Pointer, PointerSource, parse_pointer

from ..builders import raw_safetensors

OID = "4d7a" * 16


def text(size: int, oid: str = OID, version: str = "https://git-lfs.github.com/spec/v1") -> bytes:
    return f"version {version}\noid sha256:{oid}\nsize {size}\n".encode()


@given(st.integers(0, 10**17), st.binary(min_size=32, max_size=32))
def test_what_is_written_is_read(size: int, digest: bytes) -> None:
    assert parse_pointer(text(size, digest.hex())) == Pointer(digest.hex(), size)


@given(st.binary(max_size=300) | st.binary(max_size=40).map(lambda more: text(7) + more))
def test_anything_else_is_none(data: bytes) -> None:
    """A damaged pointer is no pointer; nothing is guessed of it."""
    pointer = parse_pointer(data)
    assert pointer is None or text(pointer.size, pointer.sha256).startswith(data.rstrip(b"\n"))


@pytest.mark.parametrize(
    "data",
    [
        text(7).replace(b"sha256", b"sha512"),
        text(7).replace(b"size 7", b"size -7"),
        text(7).replace(b"size 7", b"size 07"),
        text(7).replace(b"size 7", b"size 1" + b"0" * 18),
        text(7).replace(b"oid", b"oid oid"),
        text(7, version="https://example.com/spec/v1"),
        text(7) + b"x" * MAX_POINTER,
    ],
)
def test_damaged_pointers(data: bytes) -> None:
    assert parse_pointer(data) is None


def test_a_pointer_is_listed_as_its_file(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(text(548_105_171))
    (tmp_path / "config.json").write_text("{}")
    source = PointerSource(tmp_path)
    entry = source.list_files()["model.safetensors"]
    assert (entry.size, entry.sha256) == (548_105_171, OID)
    assert source.size("model.safetensors") == 548_105_171
    assert source.read_all("config.json", 10) == b"{}"
    with pytest.raises(PointerError, match="only its name and size"):
        source.read("model.safetensors", 0, 8)


def shards(folder: Path, *sizes: int, total: int) -> None:
    names = [f"model-{i:05}-of-{len(sizes):05}.safetensors" for i in range(1, len(sizes) + 1)]
    for name, size in zip(names, sizes, strict=True):
        (folder / name).write_bytes(text(size))
    weight_map = ", ".join(f'"t{i}": "{name}"' for i, name in enumerate(names))
    index = f'{{"metadata": {{"total_size": {total}}}, "weight_map": {{{weight_map}}}}}'
    (folder / "model.safetensors.index.json").write_text(index)
    (folder / "config.json").write_text('{"model_type": "gpt2", "architectures": ["GPT2Model"]}')


def codes(folder: Path, pointers: bool = False) -> list[tuple[str, str]]:
    result = hfinspect.audit(folder, pointers=pointers)
    return [
        (finding.code, finding.file or "")
        for finding in result.findings
        if finding.severity == "error"
    ]


def test_sound_pointers_are_no_finding(tmp_path: Path) -> None:
    shards(tmp_path, 500, 600, total=1000)
    assert [code for code, _ in codes(tmp_path)] == ["HI103", "HI103"]
    assert codes(tmp_path, pointers=True) == []
    unchecked = hfinspect.audit(tmp_path, pointers=True).unchecked
    assert {u.what for u in unchecked} >= {
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    }


def test_a_missing_shard_is_found_by_its_name(tmp_path: Path) -> None:
    shards(tmp_path, 500, 600, total=1000)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    assert codes(tmp_path, pointers=True) == [("HI201", "model-00002-of-00002.safetensors")]


def test_shards_that_cannot_hold_their_tensors_are_found_by_size(tmp_path: Path) -> None:
    shards(tmp_path, 500, 499, total=1000)
    assert codes(tmp_path, pointers=True) == [("HI207", "model.safetensors.index.json")]


def test_a_damaged_pointer_is_no_file(tmp_path: Path) -> None:
    shards(tmp_path, 500, 600, total=1000)
    broken = text(500).replace(b"sha256:4", b"sha256:Z")
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(broken)
    assert codes(tmp_path, pointers=True) == [("HI103", "model-00001-of-00002.safetensors")]


def test_what_is_there_is_read(tmp_path: Path) -> None:
    shards(tmp_path, 500, total=1000)
    damaged = raw_safetensors(
        '{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 9]}}', b"0" * 9
    )
    (tmp_path / "model-00001-of-00001.safetensors").write_bytes(damaged)
    assert codes(tmp_path, pointers=True) != []
