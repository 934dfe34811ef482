"""Models in huggingface_hub's cache, as huggingface_hub itself put them there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest

from hfinspect.core.checkpoint import Shard
from hfinspect.errors import EntryNotFoundError, NetworkError, OfflineError, UsageError
from hfinspect.formats.safetensors.safetensors import SafetensorsFormat
from hfinspect.sources.hub.client import HubClient
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.hub.snapshots import CachedHubSource
from hfinspect.sources.source import Source

from ..builders import safetensors_bytes
from ..hub_repos import Files, Repo
from ..hub_server import HubServer
from .hub_support import client

WEIGHTS = safetensors_bytes({"a.weight": ("F32", (3, 4))})
OTHER = safetensors_bytes({"b.weight": ("F32", (5,))})
FILES: Files = {
    "config.json": b"{}",
    "model-00001-of-00002.safetensors": WEIGHTS,
    "model-00002-of-00002.safetensors": OTHER,
    "model.safetensors.index.json": b"""{"weight_map": {
        "a.weight": "model-00001-of-00002.safetensors",
        "b.weight": "model-00002-of-00002.safetensors"}}""",
}

needs_tree = pytest.mark.skipif(
    not hasattr(huggingface_hub, "get_cached_repo_tree"),
    reason="this huggingface_hub does not keep a commit's file list in its cache",
)


@pytest.fixture
def repo(hub: HubServer) -> Repo:
    return hub.add("org/model", FILES)


def _download(hub: HubServer, cache: Path, *patterns: str, revision: str | None = None) -> None:
    """Everything, or the files of some patterns, with their list."""
    huggingface_hub.snapshot_download(
        "org/model",
        revision=revision,
        endpoint=hub.endpoint,
        cache_dir=cache,
        token=False,
        allow_patterns=list(patterns) or None,
    )
    hub.meter.clear()


def _download_one(hub: HubServer, cache: Path, path: str) -> None:
    """One file, as transformers does: the cache does not learn what else there is."""
    huggingface_hub.hf_hub_download(
        "org/model", path, endpoint=hub.endpoint, cache_dir=cache, token=False
    )
    hub.meter.clear()


def _online(hub: HubServer, cache: Path, revision: str | None = None) -> CachedHubSource:
    return CachedHubSource(HubSource("org/model", revision, client=client(hub)), cache)


def _offline(hub: HubServer, cache: Path, revision: str | None = None) -> CachedHubSource:
    made = HubClient(endpoint=hub.endpoint, token=False, offline=True)
    return CachedHubSource(HubSource("org/model", revision, client=made), cache)


def _shards(model: CachedHubSource) -> dict[str, Shard]:
    read = SafetensorsFormat().read_header
    paths = [path for path in model.list_files() if path.endswith(".safetensors")]
    return {path: read(model.reader(path)) for path in paths}


def test_nothing_cached_is_the_hub(hub: HubServer, repo: Repo, tmp_path: Path) -> None:
    model: Source = _online(hub, tmp_path)
    assert set(model.list_files()) == set(FILES)
    assert model.read_all("config.json", 10) == b"{}"
    assert model.shard_headers("model.safetensors.index.json") is not None
    assert (model.origin.kind, model.origin.commit, model.origin.path) == ("hub", repo.sha, None)
    assert hub.meter.count("hub") == 4


def test_online_the_hub_tells_the_commit_and_the_cache_has_the_bytes(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    _download(hub, tmp_path)
    model = _online(hub, tmp_path)
    assert model.shard_headers("model.safetensors.index.json") is None
    assert [len(shard.tensors) for shard in _shards(model).values()] == [1, 1]
    assert model.read_all("config.json", 10) == b"{}"
    assert hub.meter.paths() == ["/api/models/org/model"]
    assert hub.meter.count("cdn") == 0
    assert (model.origin.kind, model.origin.commit) == ("hub", repo.sha)
    assert model.origin.path == str(tmp_path / "models--org--model" / "snapshots" / repo.sha)


def test_a_newer_commit_is_not_read_from_the_cache(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    _download(hub, tmp_path)
    new = repo.commit({**FILES, "config.json": b'{"new": 1}'})
    model = _online(hub, tmp_path)
    assert model.read_all("config.json", 20) == b'{"new": 1}'
    assert (model.origin.commit, model.origin.path) == (new, None)


def test_what_the_cache_lacks_is_fetched(hub: HubServer, repo: Repo, tmp_path: Path) -> None:
    _download(hub, tmp_path, "config.json", "*-00001-*")
    model = _online(hub, tmp_path)
    assert len(_shards(model)) == 2
    assert hub.meter.count("cdn") == hub.meter.count("hub", "/resolve/") == 1


@needs_tree
def test_a_cached_file_that_is_cut_off_is_not_used(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    _download(hub, tmp_path)
    path = next(tmp_path.rglob("snapshots/*/model-00001-of-00002.safetensors")).resolve()
    path.write_bytes(WEIGHTS[:20])
    model = _online(hub, tmp_path)
    assert len(_shards(model)["model-00001-of-00002.safetensors"].tensors) == 1
    assert hub.meter.count("cdn") == 1
    offline = _offline(hub, tmp_path)
    with pytest.raises(OfflineError, match="model-00001-of-00002"):
        offline.read("model-00001-of-00002.safetensors", 0, 8)


@needs_tree
@pytest.mark.parametrize("revision", [None, "main", "by commit"])
def test_offline_all_is_read_from_the_cache(
    hub: HubServer, repo: Repo, tmp_path: Path, revision: str | None
) -> None:
    _download(hub, tmp_path)
    model = _offline(hub, tmp_path, repo.sha if revision == "by commit" else revision)
    assert len(_shards(model)) == 2
    assert model.size("config.json") == 2
    assert model.shard_headers("model.safetensors.index.json") is None
    assert model.gather([lambda: model.read_all("config.json", 10)]) == [b"{}"]
    assert (model.origin.kind, model.origin.commit) == ("cache", repo.sha)
    assert model.listing_complete
    assert hub.meter.requests == []
    assert model.list_files()["model-00002-of-00002.safetensors"].sha256


@needs_tree
def test_offline_a_missing_shard_does_not_pass(hub: HubServer, repo: Repo, tmp_path: Path) -> None:
    """It is in the list that the download left, so reading it is an error that names it."""
    _download(hub, tmp_path, "*.json", "*-00001-*")
    model = _offline(hub, tmp_path)
    assert set(model.list_files()) == set(FILES)
    with pytest.raises(OfflineError, match="model-00002-of-00002") as caught:
        _shards(model)
    assert caught.value.hint == (
        "with a network: hf download org/model model-00002-of-00002.safetensors"
    )


def test_offline_files_fetched_one_by_one(hub: HubServer, repo: Repo, tmp_path: Path) -> None:
    """No list was left: what is there is listed, and that this may not be all is said."""
    _download_one(hub, tmp_path, "model.safetensors.index.json")
    _download_one(hub, tmp_path, "model-00001-of-00002.safetensors")
    model = _offline(hub, tmp_path)
    assert set(model.list_files()) == {
        "model.safetensors.index.json",
        "model-00001-of-00002.safetensors",
    }
    assert not model.listing_complete
    with pytest.raises(OfflineError):
        model.read("model-00002-of-00002.safetensors", 0, 8)


@needs_tree
def test_offline_what_no_list_names_does_not_exist(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    _download(hub, tmp_path)
    with pytest.raises(EntryNotFoundError):
        _offline(hub, tmp_path).read("tokenizer.json", 0, 8)


@pytest.mark.parametrize("revision", [None, "v9", "../../x", "0" * 40])
def test_offline_and_not_cached(
    hub: HubServer, repo: Repo, tmp_path: Path, revision: str | None
) -> None:
    if revision is not None:
        _download(hub, tmp_path)
    with pytest.raises(OfflineError, match="is not in the cache") as caught:
        _offline(hub, tmp_path, revision).list_files()
    assert caught.value.hint == "unset HF_HUB_OFFLINE to fetch it"
    assert hub.meter.requests == []


def test_offline_a_repo_id_that_is_none(hub: HubServer, tmp_path: Path) -> None:
    made = HubClient(endpoint=hub.endpoint, offline=True)
    with pytest.raises(UsageError):
        CachedHubSource(HubSource("../..", client=made), tmp_path).list_files()


@needs_tree
def test_a_commit_that_is_cached_whole_needs_no_request(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    _download(hub, tmp_path)
    model = _online(hub, tmp_path, repo.sha)
    assert len(_shards(model)) == 2
    assert hub.meter.requests == []
    assert model.origin.kind == "cache"


def test_a_commit_that_is_cached_in_part_fetches_the_rest(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    _download(hub, tmp_path, "*.json")
    model = _online(hub, tmp_path, repo.sha)
    assert len(_shards(model)) == 2
    assert hub.meter.count("cdn") == 2


@pytest.mark.parametrize("kind", ["page", "reset", "status"])
def test_without_a_usable_network_the_cache_helps(
    hub: HubServer, repo: Repo, tmp_path: Path, kind: str
) -> None:
    """And the report says so: the commit is the cache's, perhaps not the newest."""
    _download(hub, tmp_path, "config.json")
    hub.fail(kind)
    model = _online(hub, tmp_path)
    assert model.read_all("config.json", 10) == b"{}"
    assert (model.origin.kind, model.origin.commit) == ("cache", repo.sha)
    with pytest.raises(OfflineError, match="out of reach"):
        model.read("model-00001-of-00002.safetensors", 0, 8)


def test_without_a_network_and_a_cache_the_network_is_to_blame(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    hub.fail("reset")
    with pytest.raises(NetworkError):
        _online(hub, tmp_path).list_files()


def test_a_cache_of_another_shape_is_not_believed(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    """A ref that holds a path, a snapshot without files."""
    _download(hub, tmp_path)
    folder = tmp_path / "models--org--model"
    (folder / "refs" / "main").write_text("../../other/snapshots/x")
    with pytest.raises(OfflineError):
        _offline(hub, tmp_path).list_files()
    (folder / "snapshots" / ("1" * 40)).mkdir()
    with pytest.raises(OfflineError):
        _offline(hub, tmp_path, "1" * 40).list_files()


def test_offline_by_the_environment(hub: HubServer, repo: Repo, tmp_path: Path) -> None:
    """HF_HUB_OFFLINE=1 and HF_HOME in a new process: no request at all."""
    _download(hub, tmp_path / "hub")
    code = (
        "from hfinspect.sources.hub.repo import HubSource\n"
        "from hfinspect.sources.hub.snapshots import CachedHubSource\n"
        "model = CachedHubSource(HubSource('org/model'))\n"
        "print(model.origin.kind, len(model.list_files()), model.origin.kind)"
    )
    env = {**hub.env(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "hub 4 cache\n"
    assert hub.meter.requests == []
