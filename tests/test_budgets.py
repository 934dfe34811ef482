"""What an inspection costs, end to end: requests and bytes as the server counts them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import hfinspect
from hfinspect import Inspection
from hfinspect.errors import MovedError
from hfinspect.pictures import portrait
from hfinspect.sources.hub.client import HubClient

from .builders import Tensors, write_sparse
from .hub_api import Reply
from .hub_http import Request
from .hub_repos import StoredFile, header_bytes, sharded_files, weights
from .hub_server import HubServer

INDEX = "model.safetensors.index.json"
#: A first guess where nothing is known of a header.
GUESS = 100_000
BIG: Tensors = {f"model.layers.{i}.mlp.up_proj.weight": ("BF16", (4096, 8192)) for i in range(300)}


def inspect(hub: HubServer, target: str = "org/model", **options: object) -> Inspection:
    given = {"token": False, "endpoint": hub.endpoint, "timeout": 10.0, **options}
    return hfinspect.inspect(target, **given)  # type: ignore[arg-type]


def headers_of(files: Mapping[str, bytes | StoredFile]) -> int:
    """Bytes of all safetensors headers."""
    return sum(header_bytes(f) for f in files.values() if not isinstance(f, bytes) and f.lfs)


def test_a_single_file(hub: HubServer) -> None:
    """The list, the config, where the weights are; and their header from there: 4 and 1."""
    file = weights(BIG)
    hub.add("org/model", {"config.json": b"{}", "model.safetensors": file, "README.md": b"#"})
    assert inspect(hub).parameters == 300 * 4096 * 8192
    assert hub.meter.count("hub") <= 4
    assert hub.meter.count("cdn") == 1
    assert hub.meter.sent("cdn") <= GUESS
    assert {request.method for request in hub.meter.requests} == {"GET"}


def test_a_single_file_with_a_long_header(hub: HubServer) -> None:
    """What the guess has missed is requested exactly, at the same signed address."""
    many: Tensors = {f"model.layers.{i}.mlp.up_proj.weight": ("BF16", (8, 8)) for i in range(4000)}
    file = weights(many)
    hub.add("org/model", {"config.json": b"{}", "model.safetensors": file})
    assert inspect(hub).parameters == 4000 * 64
    assert hub.meter.count("hub") <= 4
    assert len(set(hub.meter.paths("cdn"))) == 1
    assert hub.meter.sent("cdn") == header_bytes(file) > GUESS


def test_small_files_behind_a_redirect(hub: HubServer) -> None:
    """Some small files are redirected on the Hub itself: still four."""
    hub.has_resolve_cache = True
    hub.add("org/model", {"config.json": b"{}", "model.safetensors": weights(BIG)})
    assert inspect(hub).parameters == 300 * 4096 * 8192
    assert (hub.meter.count("hub"), hub.meter.count("cdn")) == (4, 1)


@pytest.mark.parametrize("says_commit", [False, True])
def test_163_shards_on_main(hub: HubServer, says_commit: bool) -> None:
    """The list, the config, all headers at once, and which commit they were of."""
    hub.says_commit_of_headers = says_commit
    repo = hub.add("org/model", sharded_files(163))
    inspection = inspect(hub)
    assert inspection.parameters == 163 * 4 * 4096 * 8192
    assert (len(inspection.files), inspection.holds_all_files, inspection.commit) == (
        163,
        True,
        repo.sha,
    )
    assert hub.meter.count("hub") <= 4 - says_commit
    assert hub.meter.count("cdn") == 0


@pytest.mark.parametrize("revision", [None, "v1"])
@pytest.mark.parametrize(("shards", "tensors"), [(163, 4), (20, 200), (2, 1)])
def test_shard_by_shard(hub: HubServer, revision: str | None, shards: int, tensors: int) -> None:
    """Without that endpoint, or at another revision: 4 + 2 per shard, and no more bytes than
    1.5 x the headers + 100 kB, the list and the (compressed) index included."""
    files = sharded_files(shards, tensors)
    repo = hub.add("org/model", files)
    repo.tags["v1"] = repo.sha
    hub.has_headers_endpoint = False
    hub.gzips = True
    inspection = inspect(hub, revision=revision)
    assert inspection.parameters == shards * tensors * 4096 * 8192
    assert (len(inspection.files), inspection.commit) == (shards, repo.sha)
    assert hub.meter.count("hub") <= 4 + shards
    assert hub.meter.count("cdn") == shards
    assert headers_of(files) <= hub.meter.sent("cdn") <= 1.2 * headers_of(files) + 1000 * shards
    assert hub.meter.sent() <= 1.5 * headers_of(files) + 100_000


def test_an_index_as_long_as_the_headers_is_not_read(hub: HubServer) -> None:
    """One of more than 10 MB is in LFS, where nothing is compressed: its size says about how long
    the headers are."""
    files = sharded_files(20, 200)
    text = files[INDEX]
    assert isinstance(text, bytes)
    text = json.dumps(json.loads(text), indent=2).encode()  # as save_pretrained writes it
    files[INDEX] = StoredFile(text, len(text), lfs=True)
    hub.add("org/model", files)
    hub.has_headers_endpoint = False
    assert inspect(hub).parameters == 20 * 200 * 4096 * 8192
    assert hub.meter.count("hub", INDEX) == 1  # the endpoint that is not there
    assert hub.meter.count("hub") + hub.meter.count("cdn") <= 4 + 2 * 20
    del files[INDEX]
    assert hub.meter.sent() <= 1.5 * headers_of(files) + 100_000


def test_uneven_shards(hub: HubServer) -> None:
    """One shard with most of the names: its bound is its own."""
    few: Tensors = {"model.embed_tokens.weight": ("BF16", (64_000, 4096))}
    files: dict[str, bytes | StoredFile] = {"config.json": b"{}"}
    weight_map = {}
    for number, tensors in enumerate([few, BIG, {"lm_head.weight": ("BF16", (64_000, 4096))}], 1):
        name = f"model-{number:05d}-of-00003.safetensors"
        files[name] = weights(tensors)
        weight_map.update(dict.fromkeys(tensors, name))
    files[INDEX] = json.dumps({"weight_map": weight_map}).encode()
    repo = hub.add("org/model", files)
    repo.tags["v1"] = repo.sha
    inspect(hub, "org/model@v1")
    assert hub.meter.count("cdn") == 3
    assert hub.meter.sent("cdn") <= 1.2 * headers_of(files) + 3 * 1000


def test_the_token_stays_with_the_hub(hub: HubServer) -> None:
    """A private model in shards: every request to the Hub carries the token, none elsewhere."""
    hub.add("org/model", sharded_files(5), private=True, readers=frozenset({"reader"}))
    hub.has_headers_endpoint = False
    inspect(hub, token="hf_reader")
    carried = {r.host: r.headers.get("authorization") for r in hub.meter.requests}
    assert carried == {"hub": "Bearer hf_reader", "cdn": None}
    assert hub.meter.tokens_leaked == 0


class MovingHub(HubServer):
    """A Hub whose model gets a commit as soon as its files were listed. ``mixes``: it then serves
    the new commit under the old one's name."""

    mixes = False

    def answer(self, request: Request) -> Reply:
        reply = super().answer(request)
        repo = self.repos["org/model"]
        if request.path == "/api/models/org/model" and len(repo.commits) == 1:
            listed = repo.sha
            new = repo.commit(sharded_files(3))
            if self.mixes:
                repo.tags[listed] = new
        return reply


@pytest.fixture
def moving() -> Iterator[MovingHub]:
    server = MovingHub()
    yield server
    server.close()


def test_a_model_that_moves_is_read_at_one_commit(moving: MovingHub) -> None:
    """The headers ready for main are of a newer commit than the list: not taken."""
    first = moving.add("org/model", sharded_files(2)).sha
    inspection = inspect(moving)
    assert (inspection.commit, len(inspection.files)) == (first, 2)
    assert inspection.parameters == 2 * 4 * 4096 * 8192
    assert moving.meter.count("cdn") == 2


def test_a_server_that_mixes_commits_is_noticed(moving: MovingHub) -> None:
    moving.mixes = True
    moving.add("org/model", sharded_files(2))
    with pytest.raises(MovedError, match="which was listed"):
        inspect(moving)


def test_a_server_that_ignores_range_is_hung_up_on(hub: HubServer) -> None:
    """The header of a 20 GB file, and what sockets hold; not the 20 GB."""
    hub.ignores_range = True
    hub.add("org/model", {"config.json": b"{}", "model.safetensors": weights(BIG)})
    assert inspect(hub).parameters == 300 * 4096 * 8192
    hub.close()
    assert hub.meter.sent("cdn") < 2_000_000


@pytest.mark.parametrize("offline", [False, True])
def test_files_in_the_cache_are_read_there(hub: HubServer, offline: bool) -> None:
    """huggingface_hub's cache: the commit is asked, or with HF_HUB_OFFLINE=1 nothing at all."""
    from huggingface_hub import constants

    files = sharded_files(2)
    repo = hub.add("org/cached", files)
    folder = Path(constants.HF_HUB_CACHE) / "models--org--cached"
    snapshot = folder / "snapshots" / repo.sha
    for path, content in files.items():
        head, size = (
            (content, len(content)) if isinstance(content, bytes) else (content.head, content.size)
        )
        write_sparse(snapshot / path, head, size)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(repo.sha)
    try:
        client = HubClient(endpoint=hub.endpoint, token=False, offline=offline)
        hub.at_close.append(client.close)
        inspection = inspect(hub, "org/cached", client=client)
    finally:
        shutil.rmtree(folder)
    assert inspection.parameters == 2 * 4 * 4096 * 8192
    assert (inspection.commit, inspection.origin.kind) == (repo.sha, "cache" if offline else "hub")
    assert (hub.meter.count("hub"), hub.meter.count("cdn")) == (0 if offline else 1, 0)


def test_a_page_costs_the_trip_of_its_table(hub: HubServer) -> None:
    """All parts of a page, the audit among them, are made from what ``inspect`` requests."""
    folder = Path(__file__).resolve().parents[1] / "fixtures" / "models" / "gpt2"
    hub.add(
        "org/model",
        {"config.json": (folder / "config.json").read_bytes(), "model.safetensors": weights(BIG)},
    )
    inspect(hub)
    requests = len(hub.meter.requests)
    sent = hub.meter.sent()
    hub.meter.clear()
    page = portrait("org/model", token=False, endpoint=hub.endpoint, timeout=10.0)
    assert not isinstance(page.audit, str)
    assert (len(hub.meter.requests), hub.meter.sent()) == (requests, sent)
