"""One reader for inspecting and auditing: a value, or the error that both report."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import hfinspect
from hfinspect.checkpoints.file_bytes import FirstGuess
from hfinspect.checkpoints.one_file import read_index, read_json, read_shard
from hfinspect.errors import FormatError, HfinspectError, ShardIndexError
from hfinspect.sources.local import LocalSource

from ..builders import raw_safetensors, safetensors_bytes

PACKAGE = Path(hfinspect.__file__).parent

#: What lies in place of weights -> its bytes.
DAMAGED = {
    "nothing": b"",
    "zeros": bytes(4096),
    "a page": b"<!doctype html><p>sign in",
    "a pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "half a header": safetensors_bytes({"a": ("F32", (2,))})[:20],
    "no JSON": raw_safetensors(b"{nonsense", b""),
    "an overlap": raw_safetensors(
        b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
        b'"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}',
        bytes(12),
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_both_report_the_same_of_a_damaged_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(DAMAGED[name])
    with pytest.raises(HfinspectError) as raised:
        hfinspect.inspect(tmp_path)
    texts = [finding.text for finding in hfinspect.audit(tmp_path).findings]
    assert any(raised.value.found.endswith(text.split(" (")[0]) for text in texts)


def test_a_refused_header_has_a_value_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(DAMAGED["an overlap"])
    source = LocalSource(tmp_path)
    read = read_shard(source, "safetensors", "a.safetensors", FirstGuess(source))
    assert read.value is not None
    assert [tensor.name for tensor in read.value.tensors] == ["a", "b"]
    with pytest.raises(FormatError, match="bytes before"):
        read.strict()


def test_an_index_keeps_the_entries_that_stay_inside(tmp_path: Path) -> None:
    weight_map = {"a": "../../etc/passwd", "b": "model-00001-of-00001.safetensors"}
    name = "model.safetensors.index.json"
    (tmp_path / name).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    read = read_index(LocalSource(tmp_path), name)
    assert [shard for shard, _ in read.unsafe] == ["../../etc/passwd"]
    assert read.value is not None
    assert list(read.value.weight_map) == ["b"]
    with pytest.raises(ShardIndexError, match="etc/passwd"):
        read.strict()


def test_null_is_a_value(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("null")
    read = read_json(LocalSource(tmp_path), "config.json")
    assert read.strict() is None
    assert read.mapping is None


def test_nothing_else_reads_headers_configs_and_indexes() -> None:
    """The formats are called by one file, whatever is done with what they find."""
    reading = {"read_header", "judge_header", "parse_index", "read_all"}
    calls = set()
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        text = path.read_text()
        if room in ("formats", "sources") or not any(name in text for name in reading):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", None))
                if name in reading:
                    calls.add((path.stem, name))
    # The files of tokenizers have a reader of their own.
    assert {stem for stem, _ in calls - {("weights_read", "read_header")}} == {
        "one_file",
        "token_table",
    }
