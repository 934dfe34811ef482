"""The audit as a whole: what it covers, what it leaves alone, what it says it left out."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

import hfinspect
from hfinspect.auditing.run import MAX_PER_RULE
from hfinspect.errors import EntryNotFoundError, NothingToInspectError, UsageError
from hfinspect.reports.verdict import Audits

from ..builders import write_config, write_sharded
from ..schemas import conforms
from .damage import (
    bin_of,
    cut,
    drop,
    large_weights,
    pickle_of,
    record,
    remove,
    set_json,
    symlink,
    value,
)
from .sound import CONFIG, Files, made, write

SHARDS = [f"model-{number:05d}-of-00004.safetensors" for number in range(1, 5)]
Q1 = "model.layers.1.self_attn.q_proj.weight"


def codes(result: hfinspect.AuditResult) -> list[str]:
    return [finding.code for finding in result.findings]


def unchecked(result: hfinspect.AuditResult) -> str:
    return "\n".join(f"{item.what}: {item.why}" for item in result.unchecked)


def snapshot(directory: Path) -> dict[str, tuple[float, int, bytes]]:
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_mode, path.read_bytes())
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_result_is_plain_data_by_its_schema(tmp_path: Path) -> None:
    files = made("sharded")
    cut(files, SHARDS[1], -10)
    result = hfinspect.audit(write(files, tmp_path))
    conforms(Audits([result]).to_dict(), "audit")
    assert result.counts["error"] == 1
    assert not result.ok
    finding = result.failing()[0]
    assert (finding.code, finding.file, finding.severity) == ("HI110", SHARDS[1], "error")
    assert "missing" in finding.text


def test_a_damaged_file_does_not_stop_the_others(tmp_path: Path) -> None:
    files = made("sharded")
    files[SHARDS[0]] = b""
    files[SHARDS[1]] = files[SHARDS[1]][:50]
    files[SHARDS[2]] = bytes(1000)
    files[SHARDS[3]] += b"x"
    files["model.safetensors.index.json"] = b"{"
    files["config.json"] = b"["
    result = hfinspect.audit(write(files, tmp_path))
    assert {"HI102", "HI110", "HI105", "HI111", "HI214", "HI130"} <= set(codes(result))
    assert f"tensors of {SHARDS[0]}" in unchecked(result)


def test_nothing_changes_on_disk(tmp_path: Path) -> None:
    files = made("copies")
    pickle_of(files, "training_args.bin", "os", "system")
    write(files, tmp_path)
    before = snapshot(tmp_path)
    hfinspect.audit(tmp_path, deep=True)
    assert snapshot(tmp_path) == before


def test_select_and_ignore_by_prefix(tmp_path: Path) -> None:
    files = made("single")
    drop(files, "model.safetensors", Q1)
    remove(files, "README.md")
    write(files, tmp_path)
    assert set(codes(hfinspect.audit(tmp_path))) == {"HI301", "HI502", "HI503"}
    assert codes(hfinspect.audit(tmp_path, select=["HI3"])) == ["HI301"]
    assert codes(hfinspect.audit(tmp_path, select=["hi5,HI301"], ignore=["HI503"])) == [
        "HI301",
        "HI502",
    ]
    # The longer prefix wins, on either side.
    assert codes(hfinspect.audit(tmp_path, ignore=["HI5"], select=["HI502"])) == ["HI502"]
    for wrong in (["HI9"], ["nonsense"], [""]):
        with pytest.raises(UsageError):
            hfinspect.audit(tmp_path, select=wrong)


def test_findings_of_one_cause_are_one(tmp_path: Path) -> None:
    files = made("sharded")
    content = json.loads(files["model.safetensors.index.json"])
    content["weight_map"].update({f"ghost.{n}": SHARDS[0] for n in range(1500)})
    files["model.safetensors.index.json"] = json.dumps(content).encode()
    result = hfinspect.audit(write(files, tmp_path))
    (finding,) = [finding for finding in result.findings if finding.code == "HI203"]
    assert finding.count == 1500
    assert finding.names == tuple(f"ghost.{n}" for n in range(1000))


def test_findings_of_one_rule_are_bounded(tmp_path: Path) -> None:
    files = made("sharded")
    content = json.loads(files["model.safetensors.index.json"])
    names = {f"ghost.{n}": f"shard-{n}.safetensors" for n in range(1000)}
    content["weight_map"].update(names)
    files["model.safetensors.index.json"] = json.dumps(content).encode()
    files |= dict.fromkeys(names.values(), files[SHARDS[0]])
    result = hfinspect.audit(write(files, tmp_path))
    findings = [finding for finding in result.findings if finding.code == "HI203"]
    assert len(findings) == MAX_PER_RULE + 1
    assert any(finding.text.startswith("950 more") for finding in findings)


def test_a_single_file_is_judged_alone(tmp_path: Path) -> None:
    write(made("sharded"), tmp_path)
    result = hfinspect.audit(tmp_path / SHARDS[0])
    assert codes(result) == []
    assert "the other shards" in unchecked(result)
    assert codes(hfinspect.audit(tmp_path, file=SHARDS[2])) == []
    with pytest.raises(EntryNotFoundError):
        hfinspect.audit(tmp_path, file="absent.safetensors")


def test_folders_below_are_audited_too(tmp_path: Path) -> None:
    write(made("single"), tmp_path)
    damaged = made("single")
    drop(damaged, "model.safetensors", Q1)
    write(damaged, tmp_path / "checkpoint-500")
    result = hfinspect.audit(tmp_path, select=["HI3"])
    assert [(f.code, f.file) for f in result.findings] == [
        ("HI301", "checkpoint-500/model.safetensors")
    ]


def test_nothing_to_audit(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(NothingToInspectError):
        hfinspect.audit(tmp_path)
    with pytest.raises(EntryNotFoundError):
        hfinspect.audit(tmp_path / "absent")


def test_what_was_not_checked_is_said(tmp_path: Path) -> None:
    files = made("single")
    files["model.onnx"] = b"\x08\x07" * 2000
    set_json(files, "config.json", "model_type", "unheard_of")
    set_json(files, "config.json", "architectures", ["Unheard"])
    said = unchecked(hfinspect.audit(write(files, tmp_path)))
    assert "model.onnx: ONNX is a format that is not read" in said
    assert "its architecture is not in the catalog" in said
    assert "only headers were read; a deep audit" in said


@pytest.mark.parametrize(
    ("settings", "code"),
    [({"num_hidden_layers": 5}, "HI305"), ({"vocab_size": 31}, "HI304")],
)
def test_an_unknown_architecture_is_told_by_names(
    settings: dict[str, object], code: str, tmp_path: Path
) -> None:
    files = made("single")
    for key, item in {"model_type": "x", "architectures": ["X"], **settings}.items():
        set_json(files, "config.json", key, item)
    assert code in codes(hfinspect.audit(write(files, tmp_path)))


@pytest.mark.posix
def test_unreadable_files_and_directories_are_findings(tmp_path: Path) -> None:
    write(made("sharded"), tmp_path)
    (tmp_path / "closed").mkdir()
    symlink(tmp_path, SHARDS[0], SHARDS[0])  # a link to itself
    (tmp_path / SHARDS[1]).chmod(0)
    (tmp_path / "closed").chmod(0)
    try:
        result = hfinspect.audit(tmp_path)
    finally:
        (tmp_path / "closed").chmod(0o700)
    files = {finding.file for finding in result.findings if finding.code == "HI101"}
    assert SHARDS[0] in files
    if os.geteuid() != 0:  # permissions do not bind root
        assert {SHARDS[1], "closed"} <= files


def test_a_missing_shard_explains_its_tensors(tmp_path: Path) -> None:
    files = made("sharded")
    remove(files, SHARDS[2])
    assert codes(hfinspect.audit(write(files, tmp_path))) == ["HI201"]


@pytest.mark.posix
def test_a_pair_of_links_into_the_cache_is_no_finding(tmp_path: Path) -> None:
    """models--org--name/snapshots/<commit>/file -> ../../blobs/<sha256>"""
    root = tmp_path / "models--org--name"
    commit = root / "snapshots" / ("a" * 40)
    commit.mkdir(parents=True)
    (root / "blobs").mkdir()
    for path, content in made("single").items():
        digest = hashlib.sha256(content).hexdigest()
        (root / "blobs" / digest).write_bytes(content)
        (commit / path).symlink_to(f"../../blobs/{digest}")
    clean = hfinspect.audit(commit, deep=True)
    assert codes(clean) == []
    blob = (commit / "model.safetensors").resolve()
    damage = bytearray(blob.read_bytes())
    damage[-1] ^= 1
    blob.write_bytes(bytes(damage))
    (root / "blobs" / "abc.incomplete").write_bytes(b"x")
    damaged = hfinspect.audit(commit, deep=True)
    assert codes(damaged) == ["HI141", "HI131"]
    assert damaged.findings[0].expected == blob.name


# ---- --deep


def test_deep_reads_pickled_weights_and_gguf(tmp_path: Path) -> None:
    files: Files = {}
    bin_of(files, "pytorch_model.bin", {"a.weight": [2, 2]})
    files["model.gguf"] = made("gguf")["model.gguf"][:-2] + b"\x00\x7e"
    result = hfinspect.audit(write(files, tmp_path), deep=True, select=["HI14"])
    assert [(f.code, f.tensor) for f in result.findings] == [
        ("HI142", "output.weight"),
        ("HI144", "a.weight"),
    ]


@pytest.mark.parametrize(
    ("dtype", "item", "code"),
    [
        ("F32", "0000c07f", "HI142"),
        ("F32", "000080ff", "HI143"),
        ("F32", "ffff7f7f", None),
        ("BF16", "c07f", "HI142"),
        ("BF16", "80ff", "HI143"),
        ("BF16", "7f7f", None),
        ("F16", "01fc", "HI142"),
        ("F16", "00fc", "HI143"),
        ("F16", "fffb", None),
    ],
)
def test_deep_finds_one_value(dtype: str, item: str, code: str | None, tmp_path: Path) -> None:
    from .damage import retype

    files = made("single")
    retype(files, "model.safetensors", "*", dtype)
    value(files, "model.safetensors", Q1, 100, item)
    result = hfinspect.audit(write(files, tmp_path), deep=True, select=["HI14"])
    assert codes(result) == ([code] if code else [])
    if code:
        assert result.findings[0].tensor == Q1
        assert "at element 100" in result.findings[0].text


def test_deep_crosses_the_borders_of_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hfinspect.auditing.facts import deep

    monkeypatch.setattr(deep, "CHUNK_BYTES", 37)
    files = made("single")
    value(files, "model.safetensors", Q1, 100, "007e")
    record(files, "model.safetensors")
    done: list[tuple[str, int, int]] = []
    result = hfinspect.audit(
        write(files, tmp_path), deep=True, progress=lambda *state: done.append(state)
    )
    assert codes(result) == ["HI142"]
    size = len(files["model.safetensors"])
    assert done[0] == ("headers", 0, 1)
    assert done[-1] == ("values", size, size)


def test_deep_needs_little_memory(tmp_path: Path) -> None:
    import tracemalloc

    files = made("single")
    large_weights(files, "model.safetensors")
    with (write(files, tmp_path) / "model.safetensors").open("ab") as file:
        file.truncate(200 * 2**20)
    tracemalloc.start()
    try:
        hfinspect.audit(tmp_path, deep=True)
        assert tracemalloc.get_traced_memory()[1] < 40 * 2**20
    finally:
        tracemalloc.stop()


# ---- --reference


def test_reference_of_a_fine_tune(tmp_path: Path) -> None:
    base = write(made("single"), tmp_path / "base")
    tuned = write(made("sharded"), tmp_path / "tuned")
    result = hfinspect.audit(tuned, reference=base)
    assert codes(result) == []
    assert result.reference == str(base)


def test_reference_of_an_adapter(tmp_path: Path) -> None:
    files = made("adapter")
    remove(files, "config.json")
    tuned = write(files, tmp_path / "tuned")
    assert "no reference" in unchecked(hfinspect.audit(tuned))
    assert codes(hfinspect.audit(tuned, reference=write(made("single"), tmp_path / "base"))) == []
    other = made("single")
    drop(other, "model.safetensors", Q1)
    result = hfinspect.audit(tuned, reference=write(other, tmp_path / "other"))
    assert [(f.code, f.text) for f in result.findings] == [("HI320", "the base has no such module")]


# ---- size


def test_200_shards_of_20000_tensors(tmp_path: Path) -> None:
    """A fraction of a second of work, and five times as much for DeepSeek-V3."""
    shards = [
        {f"model.layers.{n}.mlp.experts.{k}.up_proj.weight": ("BF16", (8, 8)) for k in range(100)}
        for n in range(200)
    ]
    write_sharded(tmp_path, shards)
    unheard = {"model_type": "unheard_of", "architectures": ["Unheard"]}
    write_config(tmp_path, {**CONFIG, **unheard, "num_hidden_layers": 200})
    started = time.process_time()
    result = hfinspect.audit(tmp_path, ignore=["HI106", "HI107"])
    taken = time.process_time() - started
    assert (result.files, result.tensors) == (200, 20_000)
    assert result.failing() == ()
    assert taken < 2.0
