"""The same model asked again: what a run has read, the next one knows, whatever the question."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.api import predict_parts
from hfinspect.formats.safetensors.header import header_of_mapping, parse_header
from hfinspect.sources.header_cache import HeaderCache

from ..cli.program import process
from ..hub_repos import sharded_files
from ..hub_server import HubServer
from ..scanning.scan_support import model_files
from ..test_one_run import calls

REPO = "org/model"


def verbs(target: str, **access: Any) -> dict[str, Any]:
    """Each verb's answer, without where it was read."""
    return {
        "inspect": hfinspect.inspect(target, **access).parameters,
        "explain": hfinspect.explain(target, **access).parameters,
        "memory": hfinspect.memory(target, **access).weights,
        "predict": hfinspect.predict(target, **access).parameters,
        "tree": predict_parts(target, **access)[0][0].declared,
        "audit": [finding.code for finding in hfinspect.audit(target, **access).findings],
        "compare": hfinspect.compare(target, target, **access).same_structure,
    }


def test_every_verb_asks_for_the_commit_alone(hub: HubServer, tmp_path: Path) -> None:
    hub.add(REPO, model_files(1))
    cache = HeaderCache(tmp_path)
    first = verbs(REPO, endpoint=hub.endpoint, token=False, cache=cache)
    hub.meter.clear()
    assert verbs(REPO, endpoint=hub.endpoint, token=False, cache=cache) == first
    assert set(hub.meter.paths()) == {f"/api/models/{REPO}"}
    assert len(hub.meter.requests) == len(first) + 1  # comparing has two


def test_a_commit_costs_no_request(hub: HubServer, tmp_path: Path) -> None:
    repo = hub.add(REPO, sharded_files(12))
    cache = HeaderCache(tmp_path)
    target = f"{REPO}@{repo.sha}"
    access: dict[str, Any] = {"endpoint": hub.endpoint, "token": False, "cache": cache}
    first = hfinspect.inspect(target, **access)
    hub.meter.clear()
    again = hfinspect.inspect(target, **access)
    assert hub.meter.requests == []
    assert (again.origin.kind, again.commit) == ("cache", repo.sha)
    assert again.tensors == first.tensors
    # What was never read of that commit is still read.
    assert hfinspect.audit(target, **access).target == target


def test_a_branch_that_moved_is_read_anew(hub: HubServer, tmp_path: Path) -> None:
    repo = hub.add(REPO, model_files(1))
    access: dict[str, Any] = {"endpoint": hub.endpoint, "cache": HeaderCache(tmp_path)}
    first = hfinspect.inspect(REPO, **access)
    repo.commit(model_files(2))
    second = hfinspect.inspect(REPO, **access)
    assert (first.commit, second.commit) == tuple(repo.commits)
    assert {t.name for t in first.tensors} != {t.name for t in second.tensors}


def test_a_short_or_another_name_is_no_commit(hub: HubServer, tmp_path: Path) -> None:
    """A branch may be called like the beginning of a hash, and a branch may move."""
    repo = hub.add(REPO, model_files(1))
    name = repo.sha[:12]
    repo.branches[name] = repo.sha
    access: dict[str, Any] = {"endpoint": hub.endpoint, "cache": HeaderCache(tmp_path)}
    for _ in range(2):
        hub.meter.clear()
        hfinspect.inspect(f"{REPO}@{name}", **access)
        assert hub.meter.count("hub", "/api/models") == 1


@pytest.mark.parametrize("locked", [{"private": True}, {"gated": "manual"}])
def test_a_commit_of_a_private_model_needs_its_token(
    hub: HubServer, tmp_path: Path, locked: dict[str, Any]
) -> None:
    repo = hub.add(REPO, model_files(), readers=frozenset({"reader"}), **locked)
    target = f"{REPO}@{repo.sha}"
    access: dict[str, Any] = {"endpoint": hub.endpoint, "cache": HeaderCache(tmp_path)}
    hfinspect.inspect(target, token="hf_reader", **access)
    for token in (False, "hf_stranger"):
        with pytest.raises(hfinspect.HfinspectError):
            hfinspect.inspect(target, token=token, **access)
    hub.meter.clear()
    assert hfinspect.inspect(target, token="hf_reader", **access).origin.kind == "cache"
    assert hub.meter.requests == []
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.glob("?/*"))


def test_refresh_and_no_cache(hub: HubServer, tmp_path: Path) -> None:
    repo = hub.add(REPO, model_files())
    env = {**hub.env(tmp_path / "home"), "HFINSPECT_CACHE": str(tmp_path / "kept")}

    def requests(*options: str) -> int:
        hub.meter.clear()
        done = process("inspect", f"{REPO}@{repo.sha}", *options, env=env)
        assert done.code == 0, done.err
        return len(hub.meter.requests)

    assert requests("--no-cache") == 4
    assert not (tmp_path / "kept").exists()
    assert [requests(), requests(), requests("--refresh"), requests()] == [4, 0, 4, 0]


def test_what_is_read_with_refresh_is_kept_within_the_run(tmp_path: Path) -> None:
    HeaderCache(tmp_path).put("key", b"old")
    cache = HeaderCache(lambda: str(tmp_path), refresh=True)
    assert cache.get("key") is None
    cache.put("key", b"new")
    assert cache.get("key") == HeaderCache(tmp_path).get("key") == b"new"


@pytest.mark.parametrize("has_all_ready", [True, False])
def test_a_header_is_parsed_once(hub: HubServer, tmp_path: Path, *, has_all_ready: bool) -> None:
    """What is kept is what was made of it, in a tenth of the room; not the bytes as well."""
    hub.has_headers_endpoint = has_all_ready
    hub.add(REPO, sharded_files(3, tensors_per_shard=1_000))
    access: dict[str, Any] = {
        "endpoint": hub.endpoint,
        "token": False,
        "cache": HeaderCache(tmp_path),
    }
    inspections: list[hfinspect.Inspection] = []

    def work() -> None:
        inspections.append(hfinspect.inspect(REPO, **access))

    parsed = header_of_mapping if has_all_ready else parse_header
    assert calls(parsed, work) == 3
    assert calls(parsed, work) == 0
    first, again = inspections
    assert again.tensors == first.tensors
    assert [replace(one, origin=first.origin) for one in inspections] == [first, first]
    text = sum(file.header_bytes for file in first.files if file.header_bytes < 10**6)
    held = [path.stat().st_size for path in tmp_path.glob("?/*")]
    index = max(held)  # which is kept as it is
    assert sum(held) - index < max(text, 300_000) / 10


@pytest.mark.parametrize("has_all_ready", [True, False])
def test_what_is_kept_is_judged_as_if_it_had_been_read(
    hub: HubServer, tmp_path: Path, *, has_all_ready: bool
) -> None:
    """Entries that somebody has written, with the right digest: they are read anew, and mended."""
    hub.has_headers_endpoint = has_all_ready
    hub.add(REPO, sharded_files(2))
    access: dict[str, Any] = {
        "endpoint": hub.endpoint,
        "token": False,
        "cache": HeaderCache(tmp_path),
    }
    first = hfinspect.inspect(REPO, **access)
    hub.meter.clear()
    assert hfinspect.inspect(REPO, **access) == first
    usual = len(hub.meter.requests)
    for data in (b"", b"\0" * 40, b'{"a": 1}'):
        changed = rewritten(tmp_path, data)
        hub.meter.clear()
        assert hfinspect.inspect(REPO, **access) == first
        assert len(hub.meter.requests) > usual
        assert changed == 1  # the headers of all shards together
    hub.meter.clear()
    assert hfinspect.inspect(REPO, **access) == first
    assert len(hub.meter.requests) == usual


def rewritten(cache: Path, data: bytes) -> int:
    """Every kept header with this in its place; how many there are."""
    number = 0
    for path in cache.glob("?/*"):
        entry = path.read_bytes()
        start = entry.index(b"\n") + 1
        end = start + 4 + int.from_bytes(entry[start : start + 4], "little")
        if b" header" in entry[start:end]:
            path.write_bytes(entry[:end] + hashlib.sha256(data).digest() + data)
            number += 1
    return number


def _by_ranges(hub: HubServer, cache: Path) -> dict[str, Any]:
    hub.has_headers_endpoint = False
    return {"endpoint": hub.endpoint, "token": False, "cache": HeaderCache(cache)}


def test_headers_of_shards_are_known_while_no_weight_file_changes(
    hub: HubServer, tmp_path: Path
) -> None:
    files = sharded_files(4)
    repo = hub.add(REPO, files)
    access = _by_ranges(hub, tmp_path)
    first = hfinspect.inspect(REPO, **access)
    repo.commit({**files, "README.md": b"Another text."})
    hub.meter.clear()
    second = hfinspect.inspect(REPO, **access)
    assert second.commit != first.commit
    assert (second.tensors, second.findings) == (first.tensors, first.findings)
    assert hub.meter.count("cdn") == 0
    one = "model-00003-of-00004.safetensors"
    repo.commit({**files, one: sharded_files(4, tensors_per_shard=3)[one]})
    third = hfinspect.inspect(REPO, **access)
    assert len(third.tensors) == len(first.tensors) - 1
    assert "tensor-not-in-shards" in [finding.rule for finding in third.findings]


def test_a_shard_that_cannot_be_read_costs_the_others_nothing(
    hub: HubServer, tmp_path: Path
) -> None:
    hub.add(REPO, sharded_files(4))
    access = _by_ranges(hub, tmp_path)
    hub.fail("status", "model-00002-of-00004", status=404, host="hub")
    with pytest.raises(hfinspect.HfinspectError, match="model-00002-of-00004"):
        hfinspect.inspect(REPO, **access)
    hub.faults.clear()
    hub.meter.clear()
    assert hfinspect.inspect(REPO, **access).holds_all_files
    assert hub.meter.count("cdn") == 1
