"""Reading models from the Hub, and what that costs, against a real server on loopback."""

from __future__ import annotations

from functools import partial

import pytest

from hfinspect.core.checkpoint import Shard
from hfinspect.errors import (
    EntryNotFoundError,
    HfinspectError,
    LimitError,
    MovedError,
    NetworkError,
)
from hfinspect.formats.safetensors.safetensors import SafetensorsFormat
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.source import FileEntry, Origin, Source

from ..hub_repos import header_bytes, sharded_files, sparse, weights
from ..hub_server import HubServer
from .hub_support import source

LINEAR = {"model.layers.0.mlp.up_proj.weight": ("BF16", (4096, 8192))}


def _read_headers(model: HubSource, first_guess: int | None = None) -> list[Shard]:
    shards = [path for path in model.list_files() if path.endswith(".safetensors")]
    read = SafetensorsFormat().read_header
    tasks = [partial(read, model.reader(path), first_guess=first_guess) for path in shards]
    results = model.gather(tasks)
    assert not [result for result in results if isinstance(result, HfinspectError)]
    return [result for result in results if isinstance(result, Shard)]


def test_nothing_is_asked_before_the_first_read(hub: HubServer) -> None:
    model: Source = source(hub, "org/model", "main")
    assert model.origin == Origin("hub", "org/model", "org/model", "main", None)
    assert hub.meter.requests == []


def test_the_list_names_sizes_hashes_and_the_commit_in_one_request(hub: HubServer) -> None:
    file = weights(LINEAR)
    repo = hub.add("org/model", {"config.json": b"{}", "a/b c#.safetensors": file})
    model = source(hub, "org/model")
    blob = repo.commits[repo.sha]["config.json"].oid
    assert model.list_files() == {
        "config.json": FileEntry("config.json", 2, None, f"git:{blob}"),
        "a/b c#.safetensors": FileEntry("a/b c#.safetensors", file.size, file.sha256),
    }
    assert model.size("a/b c#.safetensors") == file.size
    assert model.origin.commit == repo.sha
    assert model.read("a/b c#.safetensors", 0, 8) == file.head[:8]
    assert hub.meter.paths("hub") == [
        "/api/models/org/model",
        f"/org/model/resolve/{repo.sha}/a/b%20c%23.safetensors",
    ]


def test_a_single_file_model_costs_three_requests_and_one_to_storage(hub: HubServer) -> None:
    """The budget is four and one; no HEAD, no index, nothing of the tensors beyond the guess."""
    file = weights({f"model.layers.{i}.w": ("F32", (1000, 1000)) for i in range(400)})
    hub.add("org/model", {"config.json": b"{}", "model.safetensors": file})
    model = source(hub, "org/model")
    model.list_files()
    assert model.read_all("config.json", 1000) == b"{}"
    [shard] = _read_headers(model)
    assert len(shard.tensors) == 400
    assert hub.meter.count("hub") == 3
    assert hub.meter.count("cdn") == 1
    assert {request.method for request in hub.meter.requests} == {"GET"}
    assert header_bytes(file) <= hub.meter.sent("cdn") <= 100_000 + 8


def test_163_shards_on_main_cost_four_requests(hub: HubServer) -> None:
    hub.add("org/model", sharded_files(163))
    model = source(hub, "org/model")
    model.list_files()
    model.read_all("config.json", 1000)
    headers = model.shard_headers("model.safetensors.index.json")
    assert headers is not None
    assert set(headers) == {path for path in model.list_files() if path.endswith(".safetensors")}
    assert headers["model-00007-of-00163.safetensors"][
        "model.layers.6.mlp.experts.0.up_proj.weight"
    ] == {
        "dtype": "BF16",
        "shape": [4096, 8192],
        "data_offsets": [0, 4096 * 8192 * 2],
    }
    assert hub.meter.count("hub") == 4
    assert hub.meter.count("cdn") == 0


def test_shard_by_shard_costs_two_requests_each(hub: HubServer) -> None:
    """Where the server has no such endpoint: 4 + 2 per shard, 1.5 x header bytes + 100 kB."""
    files = sharded_files(163)
    hub.add("org/model", files)
    hub.has_headers_endpoint = False
    model = source(hub, "org/model")
    assert model.shard_headers("model.safetensors.index.json") is None
    sizes = [header_bytes(f) for f in files.values() if not isinstance(f, bytes)]
    shards = _read_headers(model, first_guess=max(sizes))
    assert sum(len(shard.tensors) for shard in shards) == 163 * 4
    assert hub.meter.count("hub") <= 4 + 163
    assert hub.meter.count("cdn") == 163
    assert hub.meter.sent() <= 1.5 * sum(sizes) + 100_000
    assert hub.meter.tokens_leaked == 0


def test_connections_are_kept_and_many_are_used_at_once(hub: HubServer) -> None:
    """163 shards at 20 ms a request: 32 at once to either host, whatever the number of CPUs."""
    hub.add("org/model", sharded_files(163))
    hub.latency = 0.02
    model = source(hub, "org/model")
    model.list_files()
    _read_headers(model, first_guess=2000)
    assert hub.meter.connections["hub"] <= 33
    assert 8 < hub.meter.connections["cdn"] <= 32


def test_the_second_range_goes_to_the_same_signed_address(hub: HubServer) -> None:
    file = sparse(bytes(range(256)) * 4, 1 << 40)
    hub.add("org/model", {"model.safetensors": file})
    model = source(hub, "org/model")
    assert model.read("model.safetensors", 0, 10) == file.head[:10]
    assert model.read("model.safetensors", 250, 300) == file.head[250:300]
    assert model.read("model.safetensors", (1 << 40) - 3, (1 << 40) + 5) == bytes(3)
    assert hub.meter.count("hub") == 2
    assert hub.meter.count("cdn") == 3
    assert len(set(hub.meter.paths("cdn"))) == 1


def test_reads_end_where_the_file_ends_without_asking(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": b"{}", "empty.bin": b""})
    model = source(hub, "org/model")
    assert model.read("config.json", 0, 100) == b"{}"
    assert model.read("config.json", 2, 100) == b""
    assert model.read("config.json", 5, 3) == b""
    assert model.read("empty.bin", 0, 100) == b""
    assert hub.meter.count("hub") == 2


def test_mirrors_that_list_no_sizes(hub: HubServer) -> None:
    """Then the first range has the size, and 416 the end."""
    hub.lists_sizes = False
    hub.add(
        "org/model", {"model.safetensors": sparse(b"abc", 10), "empty.bin": b"", "x.json": b"{}"}
    )
    model = source(hub, "org/model")
    assert model.list_files()["model.safetensors"] == FileEntry("model.safetensors")
    reader = model.reader("model.safetensors")
    sizes = [reader.size]
    assert reader.read(0, 4) == b"abc\0"
    assert [*sizes, reader.size] == [None, 10]
    assert model.read("empty.bin", 0, 8) == b""
    assert model.size("x.json") == 2
    assert model.size("empty.bin") == 0


def test_small_files_by_redirect_and_compressed(hub: HubServer) -> None:
    hub.gzips = hub.has_resolve_cache = hub.redirects_relatively = True
    text = b'{"vocab_size": 46145}' * 1000
    hub.add("org/model", {"config.json": text})
    model = source(hub, "org/model", token="hf_reader")
    assert model.read_all("config.json", 100_000) == text
    assert hub.meter.sent("hub") < 3000
    assert model.read("config.json", 5, 15) == text[5:15]
    assert hub.meter.paths("hub")[1:3] == [
        f"/org/model/resolve/{model.origin.commit}/config.json",
        f"/api/resolve-cache/models/org/model@{model.origin.commit}/config.json",
    ]
    assert hub.meter.count("cdn") == 0


def test_a_small_file_kept_in_lfs_is_read_whole(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": sparse(b"{}" + bytes(38), 40)})
    assert source(hub, "org/model").read_all("config.json", 100) == b"{}" + bytes(38)
    assert hub.meter.count("cdn") == 1


def test_whole_files_have_a_limit(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": bytes(5000)})
    model = source(hub, "org/model")
    with pytest.raises(LimitError, match="5,000 bytes, expected at most 4,999 bytes"):
        model.read_all("config.json", 4999)
    assert hub.meter.count("hub") == 1
    assert len(model.read_all("config.json", 5000)) == 5000


@pytest.mark.parametrize("gzips", [False, True])
def test_the_limit_holds_where_no_size_is_listed(hub: HubServer, gzips: bool) -> None:
    """Also for what only inflates to more: a gzip bomb."""
    hub.lists_sizes = False
    hub.gzips = gzips
    hub.add("org/model", {"config.json": bytes(3_000_000)})
    with pytest.raises(LimitError, match="larger"):
        source(hub, "org/model").read_all("config.json", 100_000)


@pytest.mark.parametrize("lists_sizes", [True, False])
def test_where_bodies_come_whole_the_request_names_the_most(
    hub: HubServer, lists_sizes: bool
) -> None:
    """As in a browser: no file sends more than may be read of it, whoever says its size."""
    hub.lists_sizes = lists_sizes
    content = {"a.json": b"[1]", "empty.json": b"", "large.json": b" " * 50_000}
    hub.add("org/model", {**content, "lfs.bin": b"[2]"})
    model = source(hub, "org/model")
    model.client.has_bodies_whole = True
    for path, data in (*list(content.items())[:2], ("lfs.bin", b"[2]")):
        assert model.read_all(path, 100) == data
    with pytest.raises(LimitError):
        model.read_all("large.json", 100)
    assert len(model.read_all("large.json", 50_000)) == 50_000
    hub.meter.clear()
    with pytest.raises(LimitError):
        model.read_all("large.json", 100)
    assert hub.meter.sent() == (0 if lists_sizes else 101)


def test_a_server_that_ignores_range_is_hung_up_on(hub: HubServer) -> None:
    """The rest of a 1 GB file is not read: what was sent beyond is what sockets buffer."""
    hub.ignores_range = True
    file = sparse(b"head", 1 << 30)
    hub.add("org/model", {"model.safetensors": file, "config.json": b"{}"})
    model = source(hub, "org/model")
    assert model.read("model.safetensors", 0, 4) == b"head"
    assert model.read("model.safetensors", 2, 6) == b"ad\0\0"
    assert model.read("config.json", 0, 100) == b"{}"
    hub.close()
    assert hub.meter.sent("cdn") < 2_000_000


def test_the_middle_of_a_file_is_out_of_reach_without_ranges(hub: HubServer) -> None:
    hub.ignores_range = True
    hub.add("org/model", {"model.safetensors": sparse(b"head", 1 << 30)})
    model = source(hub, "org/model")
    with pytest.raises(NetworkError, match="ignores Range"):
        model.read("model.safetensors", 1 << 29, (1 << 29) + 8)
    assert hub.meter.count("cdn") == 1


def test_the_token_goes_to_the_hub_and_nowhere_else(hub: HubServer) -> None:
    repo = hub.add("org/model", {"model.safetensors": sparse(b"x", 10)}, private=True)
    repo.readers = frozenset({"reader"})
    model = source(hub, "org/model", token="hf_reader")
    assert model.read("model.safetensors", 0, 1) == b"x"
    tokens = [request.headers.get("authorization") for request in hub.meter.requests]
    assert tokens == ["Bearer hf_reader", "Bearer hf_reader", None]
    assert hub.meter.tokens_leaked == 0


def test_expired_signatures_are_renewed(hub: HubServer) -> None:
    hub.add("org/model", {"model.safetensors": sparse(b"abcdef", 10)})
    model = source(hub, "org/model")
    model.read("model.safetensors", 0, 2)
    hub.expire_signatures()
    assert model.read("model.safetensors", 2, 4) == b"cd"
    assert hub.meter.count("hub", "/resolve/") == 2
    assert hub.meter.count("cdn") == 3


def test_a_renamed_model_is_followed_once(hub: HubServer) -> None:
    """Its new name is in the list's answer, so later reads need no redirect."""
    repo = hub.add("new/name", {"config.json": b"{}"})
    hub.renamed["old/name"] = "new/name"
    model = source(hub, "old/name")
    assert model.read_all("config.json", 10) == b"{}"
    assert model.origin.repo_id == "old/name"
    assert hub.meter.paths() == [
        "/api/models/old/name",
        "/api/models/new/name",
        f"/new/name/resolve/{repo.sha}/config.json",
    ]


def test_reads_stay_at_the_listed_commit(hub: HubServer) -> None:
    repo = hub.add("org/model", {"config.json": b"old"})
    model = source(hub, "org/model")
    listed = model.listing().commit
    repo.commit({"config.json": b"newer"})
    assert model.read_all("config.json", 10) == b"old"
    assert model.origin.commit == listed != repo.sha


def test_revisions_with_slashes(hub: HubServer) -> None:
    repo = hub.add("org/model", {"config.json": b"main"})
    sha = repo.commit({"config.json": b"pr"}, branch="refs/pr/1")
    model = source(hub, "org/model", "refs/pr/1")
    assert model.read_all("config.json", 10) == b"pr"
    assert (model.origin.revision, model.origin.commit) == ("refs/pr/1", sha)


def test_an_answer_from_another_commit_is_noticed(hub: HubServer) -> None:
    repo = hub.add("org/model", {"config.json": b"old", "model.safetensors": sparse(b"", 9)})
    model = source(hub, "org/model")
    listed = model.listing().commit
    assert listed
    new = repo.commit({"config.json": b"new", "model.safetensors": sparse(b"", 9)})
    repo.tags[listed] = new  # a server that mixes them up
    for path in ("config.json", "model.safetensors"):
        with pytest.raises(MovedError, match=f"read commit {new}, expected {listed}"):
            model.read(path, 0, 3)


@pytest.mark.parametrize("says_commit", [False, True])
def test_headers_in_one_go_count_only_for_the_listed_commit(
    hub: HubServer, says_commit: bool
) -> None:
    repo = hub.add("org/model", sharded_files(2))
    hub.says_commit_of_headers = says_commit
    model = source(hub, "org/model")
    model.list_files()
    repo.commit(sharded_files(3))
    assert model.shard_headers("model.safetensors.index.json") is None
    assert hub.meter.count("hub") == (2 if says_commit else 3)
    assert len(_read_headers(model, first_guess=2000)) == 2


def test_headers_in_one_go_are_not_asked_elsewhere_than_on_main(hub: HubServer) -> None:
    repo = hub.add("org/model", sharded_files(2))
    model = source(hub, "org/model", repo.sha)
    assert model.shard_headers("model.safetensors.index.json") is None
    assert source(hub, "org/model", "main").shard_headers("nothing.index.json") is None
    assert hub.meter.count("hub", "safetensors-metadata") == 0


def test_headers_of_a_subfolder_are_named_by_path(hub: HubServer) -> None:
    files = {f"transformer/{path}": file for path, file in sharded_files(2).items()}
    hub.add("org/model", files)
    headers = source(hub, "org/model").shard_headers("transformer/model.safetensors.index.json")
    assert headers is not None
    assert next(iter(headers)) == "transformer/model-00001-of-00002.safetensors"


@pytest.mark.parametrize("kind", ["status", "page", "cut"])
def test_headers_that_cannot_be_had_at_once_are_left_to_the_shards(
    hub: HubServer, kind: str
) -> None:
    hub.add("org/model", sharded_files(2))
    hub.fail(kind, "safetensors-metadata")
    assert source(hub, "org/model").shard_headers("model.safetensors.index.json") is None


def test_what_is_not_listed_is_not_asked(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": b"{}"})
    model = source(hub, "org/model")
    for read in (
        lambda: model.read("../secret", 0, 1),
        lambda: model.read_all("model.bin", 1).decode(),
        lambda: model.size("model.bin"),
        lambda: model.reader("model.bin"),
    ):
        with pytest.raises(EntryNotFoundError, match="org/model: has no file"):
            read()
    assert hub.meter.count("hub") == 1


def test_gather_keeps_order_and_returns_errors(hub: HubServer) -> None:
    hub.add("org/model", {"a": b"1", "b": b"22"})
    model = source(hub, "org/model")
    results = model.gather([partial(model.read, path, 0, 9) for path in ("b", "nope", "a")])
    assert (results[0], results[2]) == (b"22", b"1")
    assert isinstance(results[1], EntryNotFoundError)


def test_gather_raises_what_is_no_error_of_ours(hub: HubServer) -> None:
    def broken() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        source(hub, "org/model").gather([broken, broken])


def test_gather_inside_gather(hub: HubServer) -> None:
    hub.add("org/model", {"a": b"1", "b": b"2"})
    model = source(hub, "org/model")

    def both() -> list[bytes | HfinspectError]:
        return model.gather([partial(model.read, path, 0, 1) for path in "ab"])

    assert model.gather([both] * 70) == [[b"1", b"2"]] * 70


def test_many_sources_share_a_client(hub: HubServer) -> None:
    hub.add("org/a", {"config.json": b"1"})
    hub.add("org/b", {"config.json": b"2"})
    first = source(hub, "org/a")
    second = HubSource("org/b", client=first.client)
    assert first.read_all("config.json", 9) + second.read_all("config.json", 9) == b"12"
    first.close()  # not its own client: the other goes on
    assert second.read("config.json", 0, 1) == b"2"
    assert hub.meter.connections["hub"] == 1
