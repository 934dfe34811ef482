"""The loopback Hub speaks what huggingface_hub's own client understands."""

from __future__ import annotations

import huggingface_hub
import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

from .hub_repos import sharded_files, sparse
from .hub_server import HubServer


@pytest.fixture
def api(hub: HubServer) -> HfApi:
    return HfApi(endpoint=hub.endpoint, token=False)


def test_models_are_listed_page_by_page(hub: HubServer, api: HfApi) -> None:
    hub.page_size = 2
    for number in range(5):
        info: dict[str, object] = {"downloads": number, "tags": ["gguf"] if number % 2 else []}
        hub.add(f"org/m{number}", {}, info=info)
    hub.add("other/m9", {})
    models = list(api.list_models(author="org", sort="downloads"))
    assert [model.id for model in models] == [f"org/m{n}" for n in (4, 3, 2, 1, 0)]
    assert hub.meter.count("hub") == 3
    assert [model.id for model in api.list_models(filter="gguf")] == ["org/m1", "org/m3"]
    assert [model.id for model in api.list_models(search="M9")] == ["other/m9"]
    assert [model.id for model in api.list_models(limit=3)] == ["org/m0", "org/m1", "org/m2"]
    [model] = api.list_models(search="m9", expand=["sha", "downloads"])
    assert (model.sha, model.siblings) == (hub.repos["other/m9"].sha, None)


def test_trees_paths_and_refs(hub: HubServer, api: HfApi) -> None:
    hub.page_size = 2
    files = {"config.json": b"{}", "vae/a.bin": b"abc", "vae/deep/b.json": b"", "z.txt": b""}
    repo = hub.add("org/model", files)
    repo.tags["v1"] = repo.sha
    paths = [entry.path for entry in api.list_repo_tree("org/model", recursive=True)]
    assert sorted(paths) == ["config.json", "vae", "vae/a.bin", "vae/deep/b.json", "z.txt"]
    assert len(list(api.list_repo_tree("org/model", "vae"))) == 2
    [info] = api.get_paths_info("org/model", ["vae/a.bin", "nope"])
    assert isinstance(info, huggingface_hub.hf_api.RepoFile)
    assert info.size == 3
    assert info.lfs
    refs = api.list_repo_refs("org/model")
    assert [ref.target_commit for ref in refs.branches + refs.tags] == [repo.sha, repo.sha]


def test_shard_headers_as_the_client_reads_them(hub: HubServer, api: HfApi) -> None:
    hub.add("org/model", sharded_files(3, 2))
    if not hasattr(api, "get_sharded_safetensors_metadata"):
        pytest.skip("a huggingface_hub that does not know this endpoint yet")
    metadata = api.get_sharded_safetensors_metadata("org/model")
    assert metadata.parameter_count == {"BF16": 6 * 4096 * 8192}
    assert metadata.metadata == {"total_size": 1}


def test_files_are_served_by_range(hub: HubServer, api: HfApi) -> None:
    hub.add(
        "org/model", {"model.safetensors": sharded_files(1)["model-00001-of-00001.safetensors"]}
    )
    metadata = api.parse_safetensors_file_metadata("org/model", "model.safetensors")
    assert len(metadata.tensors) == 4
    assert hub.meter.sent("cdn") == 100_001


def test_errors_carry_their_code(hub: HubServer, api: HfApi) -> None:
    hub.add("org/model", {"x": sparse(b"", 1)}, gated="auto")
    with pytest.raises(RepositoryNotFoundError):
        api.model_info("org/nope")
    with pytest.raises(RevisionNotFoundError):
        api.model_info("org/model", revision="v2")
    with pytest.raises(GatedRepoError):
        api.auth_check("org/model")
    assert api.whoami(token="hf_reader")["name"] == "reader"
