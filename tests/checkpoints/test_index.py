"""Index files are foreign text: bounded, checked, never followed out of the directory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.checkpoints import weight_map as index_module
from hfinspect.checkpoints.weight_map import parse_index, shard_paths
from hfinspect.core.checkpoint import ShardIndex
from hfinspect.errors import ShardIndexError

CORPUS = Path(os.environ.get("HFINSPECT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


def parse(content: object) -> ShardIndex:
    return parse_index("sub/model.safetensors.index.json", json.dumps(content).encode())


def test_index_is_read() -> None:
    index = parse(
        {"metadata": {"total_size": 8, "x": [{"y": 1}]}, "weight_map": {"a": "2", "b": "1"}}
    )
    assert index.weight_map == {"a": "2", "b": "1"}
    assert index.metadata == {"total_size": 8, "x": [{"y": 1}]}
    assert shard_paths(index) == ["sub/1", "sub/2"]
    assert index.findings == ()


@pytest.mark.parametrize(
    "shard",
    [
        "../x",
        "a/../../x",
        "/x",
        "~/x",
        "https://host/x",
        "a\\x",
        "a\0x",
        "a\nx",
        "\u202ex",
        "",
        "c:x",
    ],
)
def test_shard_names_that_lead_elsewhere_are_refused(shard: str) -> None:
    with pytest.raises(ShardIndexError, match="the shard name"):
        parse({"weight_map": {"a": shard}})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b"{}", "has no weight_map"),
        (b'{"weight_map":[]}', "has no weight_map"),
        (b'{"weight_map":{"a":1}}', "something else than strings"),
        (b'{"weight_map":{"a":null}}', "something else than strings"),
        (b'{"weight_map":{"a":["x"]}}', "something else than strings"),
        (b'{"weight_map":{"a":"\\ud800"}}', "half of a surrogate pair"),
        (b'\xff{"weight_map":{}}', "not UTF-8"),
        (b'{"metadata":' + b"[" * 200 + b"]" * 200 + b',"weight_map":{}}', "levels deep"),
        (b"[" * 100_000, "levels deep"),
        (b'{"weight_map":{"' + b"a" * 5000 + b'":"x"}}', "name of 5,000 characters"),
    ],
)
def test_malformed_indexes_are_refused(text: bytes, words: str) -> None:
    with pytest.raises(ShardIndexError, match=words):
        parse_index("x.index.json", text)


def test_number_of_shards_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "MAX_SHARDS", 2)
    with pytest.raises(ShardIndexError, match="names 3 shards, expected at most 2"):
        parse({"weight_map": {"a": "1", "b": "2", "c": "3"}})


def test_oddities_are_findings() -> None:
    index = parse_index("i", b'{"metadata":3,"weight_map":{"a":"1","a":"2"}}')
    assert index.weight_map == {"a": "2"}
    assert [finding.rule for finding in index.findings] == ["index-duplicate-key", "index-metadata"]


@given(
    st.binary(max_size=80)
    | st.text(alphabet='{}[]":,weight_map metadata', max_size=60).map(str.encode)
)
def test_any_bytes_give_an_index_or_its_error(data: bytes) -> None:
    try:
        index = parse_index("i", data)
    except ShardIndexError:
        return
    assert isinstance(index.weight_map, dict)


def test_real_indexes_are_sound() -> None:
    paths = sorted(CORPUS.glob("*/index.json")) if CORPUS.is_dir() else []
    if not paths:
        pytest.skip("no corpus here")
    for path in paths:
        index = parse_index(path.name, path.read_bytes())
        assert index.weight_map
        assert index.findings == ()
        assert shard_paths(index)
