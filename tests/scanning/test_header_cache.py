"""The cache of headers: what it spares, and that it is never trusted."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect import Inspection
from hfinspect.errors import HfinspectError
from hfinspect.scanning.engine import ScanOptions, close_shared, inspect_one
from hfinspect.sources import header_cache
from hfinspect.sources.caching import Segments
from hfinspect.sources.header_cache import HeaderCache
from hfinspect.sources.hub.client import HubClient

from ..formats.test_http_cost import stored
from ..formats.test_torch import sparse_archive
from ..hub_api import Reply
from ..hub_http import Request
from ..hub_repos import sharded_files
from ..hub_server import HubServer
from .scan_support import Scanner, fill, model_files


@pytest.fixture
def scan(hub: HubServer, tmp_path: Path) -> Scanner:
    return Scanner(hub, tmp_path)


def entries(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def without_origin(text: str) -> list[dict[str, object]]:
    return [{**json.loads(line), "read_from": None} for line in text.splitlines()]


# ---- what it spares


def test_a_second_run_asks_for_the_commit_alone(scan: Scanner) -> None:
    listed = scan.list_of([*fill(scan.hub, 3), "org/sharded"])
    scan.hub.add("org/sharded", sharded_files(3))
    first = scan(listed)
    scan.hub.meter.clear()
    assert scan(listed).out == first.out
    assert sorted(scan.hub.meter.paths()) == [
        *(f"/api/models/org/m000{number}" for number in (1, 2, 3)),
        "/api/models/org/sharded",
    ]
    assert scan.hub.meter.count("cdn") == 0


def test_both_ends_of_a_bin_are_kept(hub: HubServer, tmp_path: Path) -> None:
    repo = hub.add("org/bin", {"pytorch_model.bin": stored(sparse_archive(300, 10**10))})
    cache = HeaderCache(tmp_path)
    for _ in range(2):
        inspection = hfinspect.inspect("org/bin", token=False, endpoint=hub.endpoint, cache=cache)
        assert len(inspection.tensors) == 300
        assert inspection.commit == repo.sha
    assert (hub.meter.count("hub"), hub.meter.count("cdn")) == (3, 1)


def test_no_cache_keeps_nothing(scan: Scanner, tmp_path: Path) -> None:
    listed = scan.list_of(fill(scan.hub, 1))
    scan(listed, "--no-cache")
    assert not (tmp_path / "cache").exists()
    scan.hub.meter.clear()
    scan(listed, "--no-cache")
    assert scan.hub.meter.count("cdn") == 1


def test_a_commit_that_leaves_the_weights_alone_costs_none(scan: Scanner) -> None:
    """Keyed by content where the Hub has a hash, within one repo: another one's word for what a
    hash stands for is not taken."""
    listed = scan.list_of(["org/a", "other/copy"])
    for name in ("org/a", "other/copy"):
        scan.hub.add(name, model_files(1))
    assert scan(listed, "--jobs", "1").code == 0
    assert scan.hub.meter.count("cdn") == 2
    scan.hub.repos["org/a"].commit({**model_files(1), "README.md": b"#"})
    assert scan(listed, "--jobs", "1").code == 0
    assert scan.hub.meter.count("cdn") == 2


# ---- whose the entries are


class LyingHub(HubServer):
    """A mirror that serves other weights than ``real`` has, and lists them under real's hashes."""

    def __init__(self, real: HubServer) -> None:
        super().__init__()
        self.real = real

    def answer(self, request: Request) -> Reply:
        if request.host == "hub" and request.path.startswith("/api/models/"):
            reply = self.real.answer(request)
            listed = json.loads(reply.body)
            own = self.repos["org/model"].files(self.commit)
            for sibling in listed["siblings"]:
                sibling["size"] = own[sibling["rfilename"]].size
            return Reply.json(listed)
        request.path = request.path.replace(self.real.repos["org/model"].sha, self.commit)
        reply = super().answer(request)
        reply.headers.pop("X-Repo-Commit", None)
        return reply

    @property
    def commit(self) -> str:
        return self.repos["org/model"].sha


def test_a_hostile_mirror_plants_nothing(hub: HubServer, tmp_path: Path) -> None:
    """It lists the real hashes, sizes of its own, and serves other headers: they are shown as its
    own, and never as those of the real Hub."""
    hub.add("org/model", model_files())
    mirror = LyingHub(hub)
    try:
        mirror.add("org/model", model_files(7))  # one tensor more
        rows = []
        for server in (mirror, hub, mirror):
            options = ScanOptions(
                token=False, endpoint=server.endpoint, cache_dir=str(tmp_path / "cache")
            )
            rows.append(inspect_one("org/model", options))
        close_shared()
    finally:
        mirror.close()
    planted, real, again = (
        {tensor.name for tensor in row.tensors} for row in rows if isinstance(row, Inspection)
    )
    assert "extra.7.weight" in planted
    assert "extra.7.weight" not in real
    assert again == planted


@pytest.mark.parametrize("locked", [{"private": True}, {"gated": "manual"}])
@pytest.mark.parametrize("offline", [False, True])
def test_what_a_token_read_is_not_shown_without_it(
    hub: HubServer, tmp_path: Path, offline: bool, locked: dict[str, object]
) -> None:
    """Nor to the owner of another token; with a network and without one."""
    hub.add("org/model", model_files(), readers=frozenset({"reader"}), **locked)
    cache = HeaderCache(tmp_path)

    def read(token: str | bool, *, offline: bool) -> str | None:
        client = HubClient(endpoint=hub.endpoint, token=token, offline=offline)
        hub.at_close.append(client.close)
        try:
            hfinspect.inspect("org/model", client=client, cache=cache, source="checkpoint")
        except HfinspectError as error:
            return error.kind
        return None

    assert read("hf_reader", offline=False) is None
    for token in (False, "hf_stranger"):
        assert read(token, offline=offline) in ("offline", "repo_not_found", "gated")
    assert read("hf_reader", offline=offline) is None
    assert not any(b"hf_reader" in path.read_bytes() for path in entries(tmp_path))


def test_what_is_public_is_everybodys(hub: HubServer, tmp_path: Path) -> None:
    """Read with a token, it spares the next reader the same requests."""
    hub.add("org/model", model_files())
    cache = HeaderCache(tmp_path)
    for token in ("hf_reader", False, "hf_stranger"):
        hfinspect.inspect("org/model", token=token, endpoint=hub.endpoint, cache=cache)
    assert hub.meter.count("cdn") == 1


def test_a_moved_revision_is_read_anew(scan: Scanner) -> None:
    listed = scan.list_of(fill(scan.hub, 1))
    before = json.loads(scan(listed).out)
    scan.hub.repos["org/m0001"].commit({"model.safetensors": model_files(5)["model.safetensors"]})
    after = json.loads(scan(listed).out)
    assert after["commit"] == scan.hub.repos["org/m0001"].sha != before["commit"]
    assert after["model_type"] is None


def test_offline_the_cache_answers_and_the_rest_are_failed_rows(scan: Scanner) -> None:
    """Without the network switched on, and without one that works."""
    names = fill(scan.hub, 2)
    online = scan(scan.list_of(names))
    listed = scan.list_of([*names, "org/never-seen"])
    scan.env["HF_HUB_OFFLINE"] = "1"
    done = scan.process(listed)
    *known, unknown = [json.loads(line) for line in done.out.splitlines()]
    assert [{**row, "read_from": None} for row in known] == without_origin(online.out)
    assert {row["read_from"] for row in known} == {"cache"}
    assert (unknown["status"], unknown["error_kind"], done.code) == ("failed", "offline", 1)
    del scan.env["HF_HUB_OFFLINE"]
    scan.hub.fail("status", "/api/", status=404, headers={})
    scan.hub.faults[-1].kind = "page"  # a captive portal
    done = scan(listed)
    assert without_origin(done.out)[:2] == without_origin(online.out)
    assert json.loads(done.out.splitlines()[2])["error_kind"] == "network"


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "swap", "grow"])
def test_a_damaged_entry_is_dropped(scan: Scanner, tmp_path: Path, damage: str) -> None:
    listed = scan.list_of(fill(scan.hub, 2))
    first = scan(listed)
    paths = entries(tmp_path / "cache")
    contents = [path.read_bytes() for path in paths]
    for path, data, other in zip(paths, contents, reversed(contents), strict=True):
        path.write_bytes(
            {
                "flip": data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
                "cut": data[: len(data) // 2],
                "empty": b"",
                "swap": other,
                "grow": data + b" ",
            }[damage]
        )
    assert scan(listed).out == first.out
    scan.hub.meter.clear()
    assert scan(listed).out == first.out  # and mended
    assert scan.hub.meter.count("cdn") == 0


def test_a_cache_that_cannot_be_written_is_no_error(scan: Scanner, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    assert scan(scan.list_of(fill(scan.hub, 1))).code == 0


# ---- the cache itself


def test_what_was_put_is_what_is_found(tmp_path: Path) -> None:
    cache = HeaderCache(tmp_path)
    cache.put("key", b"payload")
    assert (cache.get("key"), cache.get("other")) == (b"payload", None)
    cache.put("key", b"")
    assert cache.get("key") == b""


def test_an_entry_under_another_key_is_dropped(tmp_path: Path) -> None:
    """Whole, and with a digest that is right: it is not what is looked for."""
    cache = HeaderCache(tmp_path)
    cache.put("key a", b"one")
    cache.put("key b", b"two")
    cache._path("key b").write_bytes(cache._path("key a").read_bytes())
    assert (cache.get("key a"), cache.get("key b")) == (b"one", None)
    assert not cache._path("key b").exists()


def test_it_stays_within_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go first; a run of a single write looks too."""
    for number in range(30):
        HeaderCache(tmp_path).put(f"key {number}", bytes(1000))
        newest = HeaderCache(tmp_path)._path(f"key {number}")
        os.utime(newest, (number, number))
    small = HeaderCache(tmp_path, max_bytes=10_000)
    small.put("one more", bytes(1000))
    assert small.info().nbytes <= 10_000
    assert small.get("key 0") is None
    assert small.get("key 29") == bytes(1000)
    assert small.get("one more") == bytes(1000)


def test_an_entry_beyond_the_bound_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(header_cache, "MAX_ENTRY_BYTES", 100)
    cache = HeaderCache(tmp_path)
    cache.put("key", bytes(101))
    assert cache.get("key") is None


def test_clear_empties_it(tmp_path: Path) -> None:
    cache = HeaderCache(tmp_path)
    for number in range(5):
        cache.put(str(number), b"x")
    assert cache.info().entries == 5
    assert cache.clear().entries == 5
    assert cache.info().entries == 0
    assert HeaderCache(tmp_path / "never").info().entries == 0


def _churn(root: str, seed: int) -> None:
    """Write, read, and sweep a cache that is much too small, as fast as possible."""
    cache = HeaderCache(root, max_bytes=20_000)
    for step in range(120):
        number = (step * 7 + seed) % 40
        content = cache.get(f"key {number}")
        if content is not None and content != bytes([number]) * 1000:
            os._exit(3)
        cache.put(f"key {number}", bytes([number]) * 1000)
        if step % 20 == 0:
            cache.sweep()
        if step % 47 == 0:
            cache.clear()


@pytest.mark.posix
def test_several_processes_share_it(tmp_path: Path) -> None:
    processes = [
        multiprocessing.get_context("fork").Process(target=_churn, args=(str(tmp_path), seed))
        for seed in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
    assert [process.exitcode for process in processes] == [0] * 4
    cache = HeaderCache(tmp_path)
    for number in range(40):
        assert cache.get(f"key {number}") in (None, bytes([number]) * 1000)
    assert not [path for path in entries(tmp_path) if path.name.startswith(".new-")]


@given(
    content=st.binary(max_size=60),
    reads=st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), max_size=8),
    sized=st.booleans(),
)
def test_segments_answer_as_the_file_does(
    content: bytes, reads: list[tuple[int, int]], sized: bool
) -> None:
    """Or not at all; and the same after a way through the cache."""
    segments = Segments(len(content) if sized else None)
    for start, stop in reads:
        unpacked = Segments.unpack(segments.pack())
        assert unpacked is not None
        segments = unpacked
        data = segments.find(start, stop)
        assert data is None or data == content[start:stop]
        if start < stop:
            segments.add(start, content[start:stop])
            if sized or stop <= len(content):
                assert segments.find(start, stop) == content[start:stop]
