"""Tables that are data are read alike from a checkout and from a wheel."""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

import pytest

from hfinspect.core import data_files
from hfinspect.errors import HfinspectError


@pytest.fixture(params=["table.json", "table.json.xz"])
def room(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"room_of_{request.param.replace('.', '_')}"
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").touch()
    content = '{"é": [1]}'.encode()
    packed = request.param.endswith("xz")
    (package / request.param).write_bytes(lzma.compress(content) if packed else content)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_table(room: str) -> None:
    assert data_files.read(room, "table.json") == {"é": [1]}


def test_a_table_that_is_missing(room: str) -> None:
    with pytest.raises(FileNotFoundError):
        data_files.read(room, "other.json")


def test_a_python_without_lzma(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(HfinspectError, match=r"table\.json"):
        data_files.unpacked(b"", "table.json")
