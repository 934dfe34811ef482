"""What a source can do, it can do below any layer."""

from __future__ import annotations

import re
from pathlib import Path

import hfinspect
from hfinspect.sources.layer import SourceLayer
from hfinspect.sources.local import LocalSource
from hfinspect.sources.memoized import MAX_MEMOIZED, MemoizedSource
from hfinspect.sources.parsed_in_memory import MAX_BYTES_PARSED, ParsedInMemory
from hfinspect.sources.source import Source

#: What asks a source for something that the base class may not know.
GUESSED = re.compile(r"(?:get|has)attr\((?:self\.)?_?(?:source|inner|opened|memoized)\b")


def test_a_layer_passes_every_question_on() -> None:
    """A default of the base class would answer for the source below."""
    asked = {name for name in vars(Source) if not name.startswith("_")}
    assert asked == {name for name in vars(SourceLayer) if not name.startswith("_")}


def test_a_layer_above_a_disk_is_as_near(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "config.json").write_text("{}")
    local = LocalSource(tmp_path)
    layer = MemoizedSource(local)
    assert layer.is_near and layer.listing_complete and layer.on_disk is local
    assert list(layer.list_files()) == ["config.json"]
    assert layer.passed_over == local.passed_over != {}
    assert layer.known_size("config.json") == 2


def test_nobody_guesses_what_a_source_has() -> None:
    package = Path(hfinspect.__file__).parent
    files = [path for path in package.rglob("*.py") if path.parent.name != "wire"]
    assert [path.name for path in files if GUESSED.search(path.read_text("utf-8"))] == []


def test_memory_keeps_up_to_a_limit(tmp_path: Path) -> None:
    """Beyond it, what is read and what is made of it are simply not there the next time."""
    parsed_cache = ParsedInMemory()
    parsed_cache.store_parsed("a", "header", bytes(MAX_BYTES_PARSED))
    parsed_cache.store_parsed("b", "header", b"1")
    assert (
        parsed_cache.load_parsed("a", "header") == bytes(MAX_BYTES_PARSED)
        and parsed_cache.load_parsed("b", "header") is None
    )
    with (tmp_path / "model.bin").open("wb") as file:
        file.truncate(MAX_MEMOIZED + 1)
        file.write(b"0")
    layer = MemoizedSource(LocalSource(tmp_path))
    assert len(layer.read("model.bin", 0, MAX_MEMOIZED)) == MAX_MEMOIZED
    for digit in (b"1", b"2"):  # no room is left, so the file is read
        (tmp_path / "small.json").write_bytes(digit)
        assert layer.read_all("small.json", 10) == layer.read("small.json", 0, 1) == digit
