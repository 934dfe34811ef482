"""Where to add a thing: docs/architecture.md answers with one folder and at most two files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
#: What people come to add.
THINGS = (
    "an engine",
    "a quantisation",
    "an audit rule",
    "an output",
    "a model",
    "a header of requests",
    "a device",
    "a component",
    "an option of `memory`",
    "an option of all commands that read a model",
    "a kind of cache",
)
_LINK = re.compile(r"\]\(([^)#]+)\)")


def rows() -> dict[str, tuple[str, str]]:
    """What to add -> the cells of its folder and of its files."""
    text = PAGE.read_text(encoding="utf-8").partition("## Where do I add ...?")[2]
    table = [line for line in text.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1:]]
    return {row[0]: (row[1], row[2]) for row in cells if not row[0].startswith("---")}


def test_each_thing_has_a_row() -> None:
    assert tuple(rows()) == THINGS


@pytest.mark.parametrize("thing", THINGS)
def test_one_folder_and_at_most_two_files(thing: str) -> None:
    folder_cell, file_cell = rows()[thing]
    folders = [(PAGE.parent / link).resolve() for link in _LINK.findall(folder_cell)]
    folders = [path for path in folders if path.suffix != ".md"]
    files = [(PAGE.parent / link).resolve() for link in _LINK.findall(file_cell)]
    assert len(folders) == 1 and folders[0].is_dir()
    assert len(files) <= 2
    assert [path for path in files if not path.is_file()] == []
    says = (folders[0] / "__init__.py").read_text(encoding="utf-8")
    assert "new" in says.lower(), "the folder does not say how to add a thing"


def test_the_list_of_rooms_has_every_folder() -> None:
    listed = PAGE.read_text(encoding="utf-8").partition("## The rooms")[2].partition("\n## ")[0]
    rooms = {path.name for path in (ROOT / "hfinspect").iterdir() if path.is_dir()}
    rooms -= {"__pycache__"}
    assert {room for room in rooms if f"\n  {room}/" not in listed} == set()
    order = listed.partition("Imports go down only")[2]
    assert {room for room in rooms - {"schemas"} if room not in order} == set()
