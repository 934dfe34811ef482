"""The safetensors library as the second judge of a header, in a deep audit."""

from __future__ import annotations

import json
import re
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.auditing.facts import second_reading

from .sound import Files, made, write
from .test_audit import codes

ONE = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
#: As long, and another tensor.
OTHER = {"a": {"dtype": "I32", "shape": [3, 2], "data_offsets": [0, 24]}}
#: As long, and longer than the file.
REFUSED = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 99]}}


def file_of(header: object, size: int = 24) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"\x01" * size


@pytest.mark.posix
@pytest.mark.parametrize(
    ("later", "text"),
    [
        (OTHER, r"reads 1 tensors, hfinspect 1; only hfinspect has a: F32 \[2, 3\]"),
        (REFUSED, "refuses the header: "),
    ],
)
def test_a_header_that_the_library_reads_otherwise(
    later: object, text: str, tmp_path: Path
) -> None:
    """Of a file that somebody changes between the two readings; its size stays."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(file_of(ONE))

    def swap(what: str, *_: int) -> None:
        if what == "values":
            file.write_bytes(file_of(later))

    result = hfinspect.audit(file, deep=True, select=["HI145"], progress=swap)
    assert codes(result) == ["HI145"]
    assert result.findings[0].file == "model.safetensors"
    assert re.search(text, result.findings[0].text)


@pytest.mark.posix
@pytest.mark.parametrize("name", ["single", "sharded"])
def test_both_read_the_same(name: str, tmp_path: Path) -> None:
    result = hfinspect.audit(write(made(name), tmp_path), deep=True)
    assert codes(result) == []
    assert not [one for one in result.unchecked if "second parser" in one.what]


def test_what_ours_explains_is_no_second_finding(tmp_path: Path) -> None:
    """A file that ends too early, and a dtype that nobody knows."""
    files: Files = {"model.safetensors": file_of(ONE, size=20)}
    files["other.safetensors"] = file_of({"a": {**ONE["a"], "dtype": "I5"}})
    result = hfinspect.audit(write(files, tmp_path), deep=True, select=["HI11", "HI145"])
    assert codes(result) == ["HI110", "HI119"]


def test_without_it_the_rest_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is left out is said once, by name."""
    monkeypatch.setattr(second_reading, "NEEDED", ("safetensors", "no_such_framework"))
    for name in ("model", "other"):
        data = file_of(ONE)[:-4] + b"\xff\xff\xff\x7f"
        (tmp_path / f"{name}.safetensors").write_bytes(data)
    result = hfinspect.audit(tmp_path, deep=True, select=["HI14"])
    assert codes(result) == ["HI142", "HI142"]
    left_out = [one.why for one in result.unchecked if one.what == "headers by a second parser"]
    assert left_out == ["needs no_such_framework"]


SIZES = {"F32": 4, "BF16": 2, "U8": 1, "I64": 8, "BOOL": 1, "F8_E4M3": 1, "F4": 0, "C64": 8}
TENSORS = st.lists(
    st.tuples(
        st.text(max_size=4),
        st.sampled_from([*SIZES, "X"]),
        st.lists(st.integers(0, 5), max_size=3),
        st.sampled_from([0, 0, 0, 1, -1]),
    ),
    max_size=4,
)


@pytest.mark.posix
@given(TENSORS, st.sampled_from([None, {}, {"format": "pt"}, {"a": 1}]), st.integers(-1, 1))
def test_a_header_without_a_finding_is_read_alike(
    tensors: list[tuple[str, str, list[int], int]], metadata: object, more: int
) -> None:
    """Whatever it holds: names of any letters, sizes that are a little wrong, holes."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    stop = 0
    for name, dtype, shape, odd in tensors:
        count = 1
        for dim in shape:
            count *= dim
        start = stop
        stop = max(stop + count * SIZES.get(dtype, 2) + odd, 0)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(file_of(header, max(stop + more, 0)))
        result = hfinspect.audit(path, deep=True, select=["HI145"])
    assert codes(result) == []
