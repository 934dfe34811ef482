"""An index read piece by piece says what it says as a whole, and what is wrong with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.checkpoints import folded_index
from hfinspect.checkpoints.file_bytes import FirstGuess
from hfinspect.checkpoints.folded_index import FoldedMap, is_as_stored, read_in_pieces
from hfinspect.checkpoints.one_file import read_index, read_shard
from hfinspect.checkpoints.weight_map import parse_index
from hfinspect.formats.safetensors.safetensors import name_bytes, names_bytes
from hfinspect.sources.local import LocalSource

from ..builders import write_sharded
from ..inspecting.folded import shards_of

NAMES = [f"model.layers.{n}.mlp.experts.{e}.up_proj.weight" for n in range(40) for e in range(300)]
MAP = {name: f"model-{at // 3000 + 1:05}-of-00004.safetensors" for at, name in enumerate(NAMES)}
PLAIN = {"metadata": {"total_size": 12}, "weight_map": MAP}
#: Longer than a piece.
TEXT = json.dumps(PLAIN, indent=2).encode()


def test_an_index_of_several_pieces_is_folded() -> None:
    assert len(TEXT) > folded_index.PIECE_BYTES
    index = parse_index("x.index.json", TEXT, pieces_from=1)
    assert isinstance(index.weight_map, FoldedMap)
    assert len(index.weight_map.groups) == 4
    assert index.weight_map == MAP
    assert list(index.weight_map) == NAMES
    assert len(index.weight_map) == len(NAMES)
    assert index.weight_map[NAMES[7]] == MAP[NAMES[7]]
    assert index.weight_map.shards == set(MAP.values())
    assert index.metadata == {"total_size": 12}
    assert index.findings == ()


#: Cuts fall on quotes and commas within strings, on escapes, and just before the end.
WORDS = st.sampled_from(["a", "a.1.w", '"', '",', "\\", "}", "{", "weight_map", ":", "é", ",", ""])
STRINGS = st.lists(WORDS, max_size=3).map("".join)
VALUES = st.one_of(STRINGS, st.none(), st.dictionaries(STRINGS, STRINGS, max_size=2))
OUTER = st.fixed_dictionaries(
    {}, optional={"weight_map": st.dictionaries(STRINGS, VALUES, max_size=6), "metadata": VALUES}
)


@given(OUTER, st.booleans(), st.integers(1, 12), st.sampled_from(["", ",", "}", " ", '"a":"b"']))
def test_a_cut_changes_nothing(content: object, ascii_: bool, piece: int, more: str) -> None:
    text = json.dumps(content, ensure_ascii=ascii_)
    at = text.rfind("}") if more else len(text)
    data = (text[:at] + more + text[at:]).encode()
    read = read_in_pieces(data, piece)
    if read is not None:
        whole = json.loads(data)
        assert dict(read[1]) == whole["weight_map"]
        assert json.loads(read[0]) == {**whole, "weight_map": {}}


@pytest.mark.parametrize(
    "text",
    [
        b'{"weight_map":{"a":"b",}}',
        b'{"weight_map":{"a":"b"}',
        b'{"weight_map":{"a":"b"},"weight_map":{"c":"d"}}',
        b'{"weight_map":{"a":"b"},"weight\\u005fmap":{"c":"d"}}',
        b'{"metadata":{"weight_map":{"a":"b"}}}',
        b'{"weight_map":{"a":1}}',
        b'{"weight_map":{"a":"b","a":"c"}}',
        b'{"weight_map":{"\\u0061":"b"}}',
        b'{"weight_map":{"a":"}"}}',
        b'{"weight_map":{"a":{"b":"c"}}}',
        b'{"weight_map":["a"]}',
        b'[{"weight_map":{"a":"b"}}]',
        b'{"weight_map":{"a":"\xff"}}',
        b'{"weight_map":{"' + b"n" * 5000 + b'":"b"}}',
        b"",
    ],
)
def test_what_is_unusual_is_read_whole(text: bytes) -> None:
    assert read_in_pieces(text) is None


def test_an_index_that_says_the_same_as_the_shards() -> None:
    held = dict.fromkeys(NAMES[:50], ("F32", (2,)))
    shards = shards_of([dict(list(held.items())[:30]), dict(list(held.items())[30:])])
    said = {name: f"model-{int(at >= 30)}.safetensors" for at, name in enumerate(held)}

    def compared(weight_map: dict[str, str]) -> bool:
        read = read_in_pieces(json.dumps({"weight_map": weight_map}).encode())
        assert read is not None
        return is_as_stored(read[1], shards, "")

    assert compared(said)
    assert compared(dict(reversed(said.items())))
    assert not compared({**said, NAMES[0]: "model-1.safetensors"})
    assert not compared({**said, NAMES[60]: "model-1.safetensors"})
    assert not compared(dict(list(said.items())[1:]))
    assert not compared({**said, "a": "another.safetensors"})


def test_names_are_compared_while_headers_are_read(tmp_path: Path) -> None:
    """With an index of moderate size nobody looks at all names once more: just those shards whose
    names are the index's, and all of these."""
    held = dict.fromkeys(NAMES[:50], ("F32", (2,)))
    shards = [dict(list(held.items())[:30]), dict(list(held.items())[30:])]
    write_sharded(tmp_path, shards)
    source = LocalSource(tmp_path)
    paths = [path for path in source.list_files() if path.endswith(".safetensors")]
    index = read_index(source, "model.safetensors.index.json").strict()
    said = dict(index.weight_map)
    assert said.keys() == held.keys()
    name, first = next(iter(said.items()))
    others = {
        "the same": said,
        "one less": {key: said[key] for key in said if key != name},
        "one more": {**said, "a": first},
        "another shard": {**said, "a": "another.safetensors"},
        "moved": {**said, name: next(file for file in said.values() if file != first)},
    }
    for what, weight_map in others.items():
        guess = FirstGuess(source, [replace(index, weight_map=weight_map)])
        for path in paths:
            assert read_shard(source, "safetensors", path, guess).error is None
        assert guess.all_confirmed(paths) is (what == "the same"), what
        assert not guess.all_confirmed(paths[:1])


@given(st.lists(st.text(max_size=5), max_size=6))
def test_bytes_of_several_names(names: list[str]) -> None:
    assert names_bytes(names) == sum(map(name_bytes, names))
