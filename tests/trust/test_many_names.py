"""Archives and indexes with more names than any model has: refused early, or read in a line."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest

import hfinspect
from hfinspect.checkpoints.folded_index import MAX_SHARDS
from hfinspect.errors import ShardIndexError
from hfinspect.formats.torch.torch import scan_file
from hfinspect.formats.window import Windows

#: An empty dict, as torch.save writes it.
EMPTY = b"\x80\x02}q\x00."


def _archive(members: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", EMPTY)
        for number in range(members):
            archive.writestr(f"archive/data/{number}", b"")
    return out.getvalue()


class _Counted:
    """A file on disk that counts what is read of it."""

    path = "pytorch_model.bin"
    is_near = True

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.reads = 0

    def read(self, start: int, stop: int) -> bytes:
        self.reads += 1
        return self.data[start:stop]


@pytest.mark.parametrize("members", [500, 4000])
def test_ranges_of_an_archive_are_kept_once(members: int) -> None:
    """Of windows on windows the inner one kept each local header, and each read went through all:
    150,000 members took 70 s."""
    file = _Counted(_archive(members))
    windows = Windows(file)
    scan_file(windows)
    assert len(windows._ranges) < 20
    assert file.reads < members + 20


def test_an_index_of_a_million_shards_is_refused_before_it_is_folded(tmp_path: Path) -> None:
    shards = 8 * MAX_SHARDS
    names = {
        f"model.layers.{n}.attention.weight" + "." * 150: f"s-{n}.safetensors"
        for n in range(shards)
    }
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": names}))
    assert index.stat().st_size > 16 << 20
    tracemalloc.start()
    try:
        with pytest.raises(ShardIndexError, match="names more than 10,000 shards"):
            hfinspect.inspect(tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * index.stat().st_size
    result = hfinspect.audit(tmp_path)
    assert any("names more than 10,000 shards" in finding.text for finding in result.findings)
