"""The same over HTTP: how many requests and bytes a model costs."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import cast

import pytest

from hfinspect.checkpoints.file_bytes import FirstGuess
from hfinspect.checkpoints.one_file import read_shard
from hfinspect.checkpoints.read import read_model
from hfinspect.core.checkpoint import Checkpoint
from hfinspect.errors import FormatError
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.source import Source

from ..builders import Tensors
from ..hub_repos import StoredFile, header_bytes, sharded_files, sparse, weights
from ..hub_server import HubServer
from ..sources.hub_support import client, source

BIG: Tensors = {f"layers.{i}.weight": ("BF16", (4096, 4096)) for i in range(8)}


def read(files: Source) -> Checkpoint:
    model = read_model(files)
    assert model.config is not None
    assert model.checkpoint is not None
    return model.checkpoint


def test_single_file_costs_four_requests(hub: HubServer) -> None:
    """The list, the config, where the weights are; and from there their header."""
    hub.add("org/m", {"config.json": b"{}", "model.safetensors": weights(BIG), "README.md": b""})
    checkpoint = read(source(hub, "org/m"))
    assert len(checkpoint.shards[0].tensors) == 8
    assert hub.meter.count("hub") <= 3
    assert hub.meter.count("cdn") == 1
    assert hub.meter.sent("cdn") <= 100_000


def test_163_shards_on_main_cost_four_requests(hub: HubServer) -> None:
    files = sharded_files(163)
    hub.add("org/m", files)
    checkpoint = read(source(hub, "org/m"))
    assert len(checkpoint.shards) == 163
    assert checkpoint.complete
    assert all(shard.size for shard in checkpoint.shards)
    assert hub.meter.count("hub") <= 4
    assert hub.meter.count("cdn") == 0


@pytest.mark.parametrize("revision", [None, "v1"])
def test_without_that_endpoint_two_requests_per_shard(hub: HubServer, revision: str | None) -> None:
    files = sharded_files(40)
    repo = hub.add("org/m", files)
    repo.tags["v1"] = repo.sha
    hub.has_headers_endpoint = False
    checkpoint = read(source(hub, "org/m", revision))
    assert len(checkpoint.shards) == 40
    headers = sum(
        header_bytes(f) for p, f in repo.files(repo.sha).items() if p.startswith("model-")
    )
    assert hub.meter.count("hub") + hub.meter.count("cdn") <= 4 + 2 * 40
    assert hub.meter.sent("cdn") <= 40 * 100_000
    assert headers < hub.meter.sent("cdn")


def test_endpoint_and_ranges_tell_the_same(hub: HubServer) -> None:
    hub.add("org/m", sharded_files(5))
    by_endpoint = read(source(hub, "org/m"))
    hub.has_headers_endpoint = False
    by_range = read(source(hub, "org/m"))
    assert [s.file for s in by_endpoint.shards] == [s.file for s in by_range.shards]
    for one, other in zip(by_endpoint.shards, by_range.shards, strict=True):
        assert one.tensors == tuple(tensor._replace(offset=None) for tensor in other.tensors)
        assert (one.size, one.header_bytes) == (other.size, other.header_bytes)


def test_odd_shard_names_are_read_through_the_index(hub: HubServer) -> None:
    files = sharded_files(3)
    index = files.pop("model.safetensors.index.json")
    assert isinstance(index, bytes)
    odd = {path.replace("-of-00003", ""): content for path, content in files.items()}
    hub.add("org/m", {**odd, "model.safetensors.index.json": index.replace(b"-of-00003", b"")})
    hub.has_headers_endpoint = False
    checkpoint = read(source(hub, "org/m"))
    assert [shard.file for shard in checkpoint.shards] == [
        f"model-0000{number}.safetensors" for number in (1, 2, 3)
    ]
    assert checkpoint.findings == ()
    # The index gives the bound: little more than the headers is read.
    assert hub.meter.sent("cdn") < 3 * 2_000


def test_missing_shard_on_the_hub_is_said(hub: HubServer) -> None:
    files = sharded_files(3)
    del files["model-00002-of-00003.safetensors"]
    hub.add("org/m", files)
    checkpoint = read(source(hub, "org/m"))
    assert checkpoint.missing == ("model-00002-of-00003.safetensors",)
    assert not checkpoint.complete


def test_long_headers_raise_the_guess_for_the_shards_still_to_ask(hub: HubServer) -> None:
    """Without an index 100 kB are read first; one header of 200 kB teaches."""
    many: Tensors = {
        f"model.layers.{i}.a.long.name.of.a.tensor": ("F32", (8,)) for i in range(2000)
    }
    hub.add("org/m", {"a.safetensors": weights(many), "b.safetensors": weights(many)})
    files = source(hub, "org/m")
    guess = FirstGuess(files)
    for path, requests in (("a.safetensors", 2), ("b.safetensors", 1)):
        hub.meter.clear()
        assert len(read_shard(files, "safetensors", path, guess).strict().tensors) == 2000
        assert hub.meter.count("cdn") == requests


def test_broken_shard_is_named(hub: HubServer) -> None:
    files = sharded_files(3)
    files["model-00002-of-00003.safetensors"] = sparse(b"<html>", 1000)
    hub.add("org/m", files)
    hub.has_headers_endpoint = False
    with pytest.raises(FormatError, match="model-00002-of-00003"):
        read(source(hub, "org/m"))


class IndexComesLast(HubSource):
    """The Hub, whose index is not there before it is known where each shard is."""

    def __init__(self, hub: HubServer, repo_id: str, shards: int) -> None:
        super().__init__(repo_id, client=client(hub))
        self.located = threading.Semaphore(0)
        self.shards = shards

    def locate(self, path: str, stop: int) -> int:
        at_hand = super().locate(path, stop)
        self.located.release()
        return at_hand

    def read_all(self, path: str, limit: int) -> bytes:
        if path.endswith(".index.json"):
            for _ in range(self.shards):
                assert self.located.acquire(timeout=10), "the shards wait for the index"
        return super().read_all(path, limit)


def test_shards_whose_names_say_that_none_lacks_do_not_wait_for_the_index(hub: HubServer) -> None:
    hub.has_headers_endpoint = False
    hub.add("org/m", sharded_files(5))
    late = read(IndexComesLast(hub, "org/m", 5))
    assert late.index is not None
    assert late.findings == ()
    costs = len(hub.meter.requests), hub.meter.sent()
    hub.meter.clear()
    assert late == read(source(hub, "org/m"))
    assert (len(hub.meter.requests), hub.meter.sent()) == costs


def test_a_mirror_that_has_the_shards_itself_is_not_asked_twice(hub: HubServer) -> None:
    """Where no storage host is, a shard costs one request as before."""
    hub.has_headers_endpoint = False
    files = {
        path: replace(file, lfs=False) if isinstance(file, StoredFile) else file
        for path, file in sharded_files(5).items()
    }
    hub.add("org/m", files)
    assert len(read(source(hub, "org/m")).shards) == 5
    assert hub.meter.count("hub", ".safetensors") - hub.meter.count("hub", ".index.json") == 5
    assert hub.meter.count("cdn") == 0


@pytest.mark.parametrize("comes_last", [True, False])
def test_what_an_index_says_otherwise_is_found_whenever_it_comes(
    hub: HubServer, *, comes_last: bool
) -> None:
    hub.has_headers_endpoint = False
    files = sharded_files(3, 3)
    weight_map = json.loads(cast("bytes", files["model.safetensors.index.json"]))["weight_map"]
    first, second, *_ = weight_map
    del weight_map[first]
    weight_map[second] = "model-00002-of-00003.safetensors"
    weight_map["another.weight"] = "another.safetensors"
    files["another.safetensors"] = weights({"another.weight": ("F32", (2,))})
    files["model.safetensors.index.json"] = json.dumps({"weight_map": weight_map}).encode()
    hub.add("org/m", files)
    checkpoint = read(IndexComesLast(hub, "org/m", 3) if comes_last else source(hub, "org/m"))
    assert "another.safetensors" in [shard.file for shard in checkpoint.shards]
    assert {finding.rule: finding.tensor for finding in checkpoint.findings} == {
        "tensor-not-in-index": first,
        "tensor-in-other-shard": second,
    }
