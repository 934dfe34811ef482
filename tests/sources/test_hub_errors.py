"""Errors of the Hub in our words: one sentence, a hint, and never the token."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hfinspect.errors import (
    AccessError,
    EntryNotFoundError,
    GatedRepoError,
    HfinspectError,
    NetworkError,
    OfflineError,
    RepoNotFoundError,
    RevisionNotFoundError,
    UnauthorizedError,
    UsageError,
)
from hfinspect.sources.hub.client import HubClient
from hfinspect.sources.hub.hub_errors import RequestContext, own_error
from hfinspect.sources.hub.repo import HubSource

from ..hub_repos import Files, sparse
from ..hub_server import HubServer
from .hub_support import source


def _error(model: HubSource, path: str = "config.json") -> HfinspectError:
    with pytest.raises(HfinspectError) as caught:
        model.read_all(path, 1000)
    assert "\n" not in str(caught.value)
    return caught.value


def test_no_such_model(hub: HubServer) -> None:
    """It is not called gated, and with a token the hint is another."""
    error = _error(source(hub, "org/model"))
    assert isinstance(error, RepoNotFoundError)
    assert str(error) == f"org/model: no such model on {hub.endpoint}, or it is private"
    assert "hf auth login" in str(error.hint)
    error = _error(source(hub, "org/model", token="hf_stranger"))
    assert isinstance(error, RepoNotFoundError)
    assert error.hint == "check the spelling, and that your token may read it"


def test_private_models_are_seen_by_their_readers(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": b"{}"}, private=True, readers=frozenset({"reader"}))
    assert isinstance(_error(source(hub, "org/model")), RepoNotFoundError)
    assert isinstance(_error(source(hub, "org/model", token="hf_stranger")), RepoNotFoundError)
    assert source(hub, "org/model", token="hf_reader").read_all("config.json", 9) == b"{}"


def test_no_such_revision(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": b"{}"})
    error = _error(source(hub, "org/model", "v9"))
    assert isinstance(error, RevisionNotFoundError)
    assert str(error) == "org/model: has no revision v9"
    assert error.hint == f"branches and tags are listed at {hub.endpoint}/org/model/tree/main"


def test_gated_files(hub: HubServer) -> None:
    """The list may be seen by all, the files only by those who were let in."""
    files: Files = {"config.json": b"{}", "model.safetensors": sparse(b"", 9)}
    hub.add("org/model", files, gated="manual", readers=frozenset({"reader"}))
    assert len(source(hub, "org/model").list_files()) == 2
    error = _error(source(hub, "org/model"))
    assert isinstance(error, GatedRepoError)
    assert str(error) == "org/model: its files are behind an access request (config.json)"
    terms = f"accept the terms at {hub.endpoint}/org/model"
    assert error.hint == f"{terms} and log in with `hf auth login` or set HF_TOKEN"
    error = _error(source(hub, "org/model", token="hf_stranger"), "model.safetensors")
    assert isinstance(error, GatedRepoError)
    assert error.hint == f"{terms} with the account of your token"
    assert source(hub, "org/model", token="hf_reader").read_all("config.json", 9) == b"{}"


def test_gated_headers_are_not_asked_shard_by_shard(hub: HubServer) -> None:
    files = {"model.safetensors.index.json": b'{"weight_map": {}}'}
    hub.add("org/model", files, gated=True)
    with pytest.raises(GatedRepoError):
        source(hub, "org/model").shard_headers("model.safetensors.index.json")


def test_a_token_that_is_refused(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": b"{}"})
    error = _error(source(hub, "org/model", token="hf_expired"))
    assert isinstance(error, UnauthorizedError)
    assert "hf auth login" in str(error.hint)
    assert "hf_expired" not in str(error.to_dict())


@pytest.mark.parametrize("token", ["hf_a\nX-Evil: 1", "hf_ä", "hf_a b", "\x00"])
def test_a_token_that_is_none_is_not_quoted(hub: HubServer, token: str) -> None:
    error = _error(source(hub, "org/model", token=token))
    assert isinstance(error, UnauthorizedError)
    assert token not in str(error.to_dict())
    assert hub.meter.requests == []


def test_a_token_is_required_but_none_is_saved(hub: HubServer) -> None:
    error = _error(source(hub, "org/model", token=True))
    assert isinstance(error, UnauthorizedError)
    assert "none is saved" in str(error)


def test_a_file_that_vanished(hub: HubServer) -> None:
    repo = hub.add("org/model", {"config.json": b"{}"})
    model = source(hub, "org/model")
    model.list_files()
    repo.files(repo.sha).clear()
    error = _error(model)
    assert isinstance(error, EntryNotFoundError)
    assert str(error) == "org/model: has no file config.json"


@pytest.mark.parametrize("repo_id", ["a/b/c", "org/--", "org/na me", "org/..", "", "org/x.git"])
def test_what_is_no_repo_id(hub: HubServer, repo_id: str) -> None:
    assert isinstance(_error(source(hub, repo_id)), UsageError)
    assert hub.meter.requests == []


@pytest.mark.parametrize(
    ("status", "kind", "found"),
    [
        (400, NetworkError, "did not understand the request (400)"),
        (401, RepoNotFoundError, "no such model on"),
        (403, UnauthorizedError, "refuses access (403)"),
        (404, RepoNotFoundError, "no such model"),
        (407, NetworkError, "a proxy wants a password (407)"),
        (418, NetworkError, "answered with status 418"),
        (451, NetworkError, "answered with status 451"),
        (501, NetworkError, "answered with status 501"),
    ],
)
def test_statuses_without_a_code(
    hub: HubServer, status: int, kind: type[AccessError], found: str
) -> None:
    """Mirrors and proxies do not send X-Error-Code; none of these is asked twice."""
    hub.fail("status", status=status)
    error = _error(source(hub, "org/model"))
    assert type(error) is kind
    assert found in str(error)
    assert hub.meter.count("hub") == 1


def test_a_401_is_about_the_token_only_where_one_was_sent(hub: HubServer) -> None:
    """What does not exist is a 401 to an anonymous request, from mirrors too."""
    hub.fail("status", status=401)
    error = _error(source(hub, "org/model"))
    assert "or it is private" in str(error)
    assert "log in" in (error.hint or "")
    hub.fail("status", status=401)
    error = _error(source(hub, "org/model", token="hf_reader"))
    assert isinstance(error, UnauthorizedError)
    assert "needs a login (401)" in str(error)


def test_a_plain_404_of_a_file_is_about_the_file(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": b"{}"})
    hub.fail("status", "/resolve/", status=404)
    assert isinstance(_error(source(hub, "org/model")), EntryNotFoundError)


def test_a_disabled_model(hub: HubServer) -> None:
    headers = {"X-Error-Message": "Access to this resource is disabled."}
    hub.fail("status", status=403, headers=headers)
    assert "has been disabled" in str(_error(source(hub, "org/model")))


def test_a_storage_host_that_refuses(hub: HubServer) -> None:
    hub.add("org/model", {"model.safetensors": sparse(b"", 9)})
    hub.fail("status", host="cdn", status=403)
    error = _error(source(hub, "org/model"), "model.safetensors")
    assert isinstance(error, UnauthorizedError)
    assert f"the storage host {hub.cdn} refuses access (403)" in str(error)
    assert hub.meter.count("hub", "/resolve/") == hub.meter.count("cdn") == 2


def test_an_error_body_of_any_length_is_not_read(hub: HubServer) -> None:
    repo = hub.add("org/model", {"config.json": b"{}"})
    model = source(hub, "org/model")
    model.list_files()
    repo.files(repo.sha)["config.json"] = sparse(b"", 1 << 30)
    hub.fail("status", host="cdn", status=500, times=5)
    assert isinstance(_error(model), NetworkError)


def test_offline_asks_nobody(hub: HubServer) -> None:
    client = HubClient(endpoint=hub.endpoint, token="hf_reader", offline=True)
    error = _error(HubSource("org/model", client=client))
    assert isinstance(error, OfflineError)
    assert error.hint == "unset HF_HUB_OFFLINE to fetch it"
    assert hub.meter.requests == []


def test_unknown_errors_are_not_translated() -> None:
    """They are bugs; also a class that only has the name of a known one."""

    class GatedRepoError(Exception):
        pass

    asked = RequestContext("http://127.0.0.1", "org/model")
    assert own_error(ZeroDivisionError(), asked) is None
    assert own_error(GatedRepoError(), asked) is None


def test_every_foreign_error_in_the_table_exists() -> None:
    """Names in the table are names of classes, here or in the HTTP library."""
    from huggingface_hub import errors

    from hfinspect.sources.hub import hub_errors as hub_errors
    from hfinspect.sources.hub.wire import answer as hub_answer
    from hfinspect.sources.hub.wire import connection as wire
    from hfinspect.sources.hub.wire.http_library import http_library

    places = (errors, http_library(), hub_answer, wire)
    for name in hub_errors._BY_CLASS:
        assert any(hasattr(place, name) for place in places), name


def test_the_environment_is_huggingface_hubs(hub: HubServer, tmp_path: Path) -> None:
    """HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE as huggingface_hub reads them, in a new process."""
    hub.add("org/model", {"a": b"1"}, private=True, readers=frozenset({"reader"}))
    code = (
        "import sys, hfinspect.sources.hub.repo as hub\n"
        "assert not [m for m in sys.modules if m.startswith(('huggingface_hub', 'httpx'))]\n"
        "model = hub.HubSource('org/model')\n"
        "print(list(model.list_files()), model.client.offline)\n"
        "model.close()"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    env = hub.env(tmp_path, token="hf_reader")
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "['a'] False\n"
    assert hub.meter.count("hub") == 1
    env["HF_HUB_OFFLINE"] = "1"
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert "OfflineError" in done.stderr
    assert hub.meter.count("hub") == 1


def test_a_session_of_the_users_own_is_used(hub: HubServer) -> None:
    """Proxies and certificates are set up with huggingface_hub.set_client_factory."""
    import huggingface_hub
    from huggingface_hub.utils import _http

    hub.add("org/model", {"config.json": b"{}"})

    def factory() -> Any:
        client = _http.default_client_factory()
        client.headers["x-mine"] = "yes"
        return client

    huggingface_hub.set_client_factory(factory)
    try:
        assert source(hub, "org/model").read_all("config.json", 9) == b"{}"
    finally:
        huggingface_hub.set_client_factory(_http.default_client_factory)
    assert [request.headers.get("x-mine") for request in hub.meter.requests] == ["yes", "yes"]


def test_requests_are_as_huggingface_hubs(hub: HubServer) -> None:
    """Each has a name of its own for the Hub's logs; none is sent where the library sends none."""
    from huggingface_hub import constants

    hub.add("org/model", {"config.json": b"{}"})
    model = source(hub, "org/model")
    assert model.read_all("config.json", 9) == b"{}"
    names = [request.headers["x-amzn-trace-id"] for request in hub.meter.requests]
    assert len(set(names)) == 2 and all(len(name) == 36 for name in names)
    constants.HF_HUB_OFFLINE = True
    try:
        asking = HubClient(endpoint=hub.endpoint, offline=False, token=False)
        with pytest.raises(OfflineError):
            HubSource("org/model", client=asking).list_files()
    finally:
        constants.HF_HUB_OFFLINE = False
    assert hub.meter.count("hub") == 2
