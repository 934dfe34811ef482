"""What is not in the listing of a directory is said to be unchecked: anything may lie there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import hfinspect
from hfinspect.auditing.facts.collect import Collector
from hfinspect.core.verdicts import Unchecked
from hfinspect.sources import disk
from hfinspect.sources.hub.client import HubClient
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.hub.snapshots import CachedHubSource
from hfinspect.sources.local import DEEP, HIDDEN, MAX_DEPTH, OUTSIDE
from hfinspect.sources.memoized import MemoizedSource

from ..hub_server import HubServer
from ..sources.hub_support import client
from ..trust.evil import EVIL_PICKLE
from .sound import made, write

#: What the Hub's client leaves in a folder that it has downloaded to.
NOTES = {
    ".gitignore": b"*",
    "CACHEDIR.TAG": b"",
    "download/config.json.metadata": b"",
    "download/sub/config.json.lock": b"",
    "download/abc.def.incomplete": b"",
    "upload/config.json.metadata": b"",
    f"trees/{'a' * 40}.json": b"{}",
}


def said(folder: Path) -> dict[str, str]:
    """why -> what"""
    reasons = (HIDDEN, DEEP, OUTSIDE)
    return {u.why: u.what for u in hfinspect.audit(folder).unchecked if u.why in reasons}


def put(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(EVIL_PICKLE)


@pytest.mark.parametrize(
    ("paths", "what"),
    [
        ([".cache/x/a.pkl"], ".cache/x"),
        ([".cache/a.pkl"], ".cache/a.pkl"),
        ([".git/a.bin"], ".git"),
        (["sub/.name/a.pkl", "sub/.name/b/c.pkl"], "sub/.name"),
        (["sub/.cache/huggingface/download/a.pkl"], "sub/.cache"),
        ([".cache/huggingface/a.pkl"], ".cache/huggingface/a.pkl"),
        ([".cache/huggingface/other/a.pkl"], ".cache/huggingface/other"),
        ([".cache/huggingface/download/d/a.pkl"], ".cache/huggingface/download/d/a.pkl"),
        ([".cache/huggingface/trees/a.json"], ".cache/huggingface/trees/a.json"),
        ([".a/1", ".b/1", ".c/1", ".d/1", ".e/1"], "5 paths: .a, .b, .c and 2 more"),
        ([".a\x1b/1"], ".a\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_hidden_folders_are_said_to_be_unchecked(
    paths: list[str], what: str, tmp_path: Path
) -> None:
    write(made("single"), tmp_path)
    assert said(tmp_path) == {}
    put(tmp_path, *paths)
    assert said(tmp_path) == {HIDDEN: what}
    assert len(hfinspect.inspect(tmp_path).files) == 1


def test_what_the_hubs_client_keeps_is_understood(tmp_path: Path) -> None:
    write(made("single"), tmp_path)
    for path, content in NOTES.items():
        file = tmp_path / ".cache/huggingface" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    assert said(tmp_path) == {}


@pytest.mark.posix
def test_a_linked_cache_is_not_understood(tmp_path: Path) -> None:
    folder = write(made("single"), tmp_path / "model")
    put(tmp_path, "other/huggingface/download/a.metadata")
    (folder / ".cache").symlink_to(tmp_path / "other")
    assert said(folder) == {HIDDEN: ".cache"}
    (folder / ".cache").unlink()
    (folder / ".cache").mkdir()
    (folder / ".cache/huggingface").symlink_to(tmp_path / "other/huggingface")
    assert said(folder) == {HIDDEN: ".cache/huggingface"}


def test_the_search_among_notes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(made("single"), tmp_path)
    put(tmp_path, *(f".cache/{number}.pkl" for number in range(9)))
    monkeypatch.setattr(disk, "MAX_LEFTOVERS", 5)
    assert said(tmp_path) == {HIDDEN: "6 paths: .cache, .cache/0.pkl, .cache/1.pkl and 3 more"}
    shutil.rmtree(tmp_path / ".cache")
    put(tmp_path, *(f".cache/huggingface/download/{number}/a.metadata" for number in range(9)))
    monkeypatch.setattr(disk, "MAX_NOTE_FOLDERS", 5)
    assert said(tmp_path) == {HIDDEN: ".cache"}


@pytest.mark.posix
def test_deep_and_distant_folders(tmp_path: Path) -> None:
    folder = write(made("single"), tmp_path / "model")
    deep = "/".join("abcdefghi")
    put(folder, f"{deep}/x.pkl")
    put(tmp_path, "other/x.pkl")
    (folder / "link").symlink_to(tmp_path / "other")
    assert len(deep.split("/")) == MAX_DEPTH + 1
    assert said(folder) == {DEEP: deep, OUTSIDE: "link"}


@pytest.mark.posix
def test_what_a_link_leads_to_is_looked_at(tmp_path: Path) -> None:
    """A hidden folder under another name: its pickle is found, and nothing is left to be said."""
    write(made("single"), tmp_path)
    put(tmp_path, ".hidden/a.pkl")
    (tmp_path / "plain").symlink_to(tmp_path / ".hidden")
    assert said(tmp_path) == {}
    assert ("HI401", "plain/a.pkl") in {
        (f.code, f.file) for f in hfinspect.audit(tmp_path).findings
    }


@pytest.mark.posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="binds no root")
def test_notes_that_may_not_be_read(tmp_path: Path) -> None:
    write(made("single"), tmp_path)
    put(tmp_path, ".cache/huggingface/download/a.metadata")
    (tmp_path / ".cache/huggingface").chmod(0)
    try:
        assert said(tmp_path) == {HIDDEN: ".cache/huggingface"}
    finally:
        (tmp_path / ".cache/huggingface").chmod(0o700)


def test_on_the_hub_hidden_paths_are_looked_at_like_others(hub: HubServer) -> None:
    paths = [".cache/x/a.pkl", ".git/b.bin", "sub/.name/c"]
    hub.add("org/m", {**made("single"), **dict.fromkeys(paths, EVIL_PICKLE)})
    result = hfinspect.audit("org/m", client=client(hub))
    assert {f.file for f in result.findings if f.code == "HI401"} == set(paths)


def test_hidden_folders_of_a_snapshot_in_the_cache(hub: HubServer, tmp_path: Path) -> None:
    """Offline, where the snapshot alone says what the repo holds."""
    commit = "b" * 40
    repo = tmp_path / "models--org--m"
    snapshot = write(made("single"), repo / "snapshots" / commit)
    put(snapshot, ".hidden/a.pkl")
    (repo / "refs").mkdir()
    (repo / "refs/main").write_text(commit)
    made_offline = HubClient(endpoint=hub.endpoint, token=False, offline=True)
    source = CachedHubSource(HubSource("org/m", client=made_offline), tmp_path)
    assert Unchecked(".hidden", HIDDEN) in Collector(MemoizedSource(source)).collect().unchecked


def test_the_index_of_a_folder_says_nothing_of_its_neighbours(tmp_path: Path) -> None:
    write(made("sharded"), tmp_path)
    put(tmp_path, ".git/a.pkl", "sub/a.pkl")
    assert said(tmp_path / "model.safetensors.index.json") == {}
