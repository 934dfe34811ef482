"""Families as data are read alike from a folder and from the one file of a wheel."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import pytest

from hfinspect.trees import trace_files

TRACES = {"b": '{"é":1}', "ab": '{"n":2}'}


@pytest.fixture(params=["folder", "wheel"])
def room(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"room_of_traces_{request.param}"
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").touch()
    if request.param == "folder":
        (package / "traced").mkdir()
        for trace, content in TRACES.items():
            (package / "traced" / f"{trace}.json").write_text(content, encoding="utf-8")
    else:
        heads = []
        blocks = b""
        for trace, content in TRACES.items():
            block = lzma.compress(f"{trace}\t{content}\n".encode())
            heads.append([len(block), [trace]])
            blocks += block
        (package / "traced.pack").write_bytes(json.dumps(heads).encode() + b"\n" + blocks)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_names_and_contents(room: str) -> None:
    assert trace_files.names(room) == ["traced/ab", "traced/b"]
    for name, content in TRACES.items():
        assert trace_files.content(room, f"traced/{name}").decode() == content


def test_one_that_is_missing(room: str) -> None:
    with pytest.raises(FileNotFoundError):
        trace_files.content(room, "traced/n")
