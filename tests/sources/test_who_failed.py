"""Errors of the network name the host that failed, say why, and come at once where nothing will
change."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import hfinspect
from hfinspect.errors import (
    AccessError,
    HfinspectError,
    NetworkError,
    RateLimitedError,
    RepoNotFoundError,
    RequestTimeoutError,
    UnauthorizedError,
    UsageError,
)
from hfinspect.sources.deadline import Deadline
from hfinspect.sources.hub.client import HubClient
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.hub.search import list_models
from hfinspect.sources.hub.wire.http import _tls

from ..cli.program import process
from ..hub_repos import sparse
from ..hub_server import HubServer, running_hub
from ..scanning.scan_support import model_files
from .certificates import Authority, authority
from .hub_support import Pauses, client, source
from .scripted import CERTIFICATE, OK, scripted

DATA = bytes(range(256)) * 40
FILE = "model.safetensors"


def model(hub: HubServer, **options: float) -> HubSource:
    hub.add("org/model", {"config.json": b"{}", FILE: sparse(DATA, 1 << 30)})
    made = source(hub, "org/model", **options)  # type: ignore[arg-type]
    made.list_files()
    return made


def stored_at(hub: HubServer, url: str) -> None:
    """Files lie there from now on."""
    hub.fail("status", "/resolve/", status=302, headers={"Location": f"{url}/f?Signature=s3cret"})


def failing(read: HubSource) -> HfinspectError:
    with pytest.raises(HfinspectError) as caught:
        read.read(FILE, 0, 100)
    assert "s3cret" not in json.dumps(caught.value.to_dict())
    assert caught.value.where == FILE
    return caught.value


# ---- the storage host


def test_a_storage_host_without_a_name(hub: HubServer) -> None:
    read = model(hub)
    stored_at(hub, "http://storage.invalid")
    error = failing(read)
    assert isinstance(error, NetworkError)
    assert error.found == "no connection to http://storage.invalid: its name cannot be looked up"
    assert str(error.hint).startswith(f"{hub.endpoint} answers and leads there")
    assert "HF_ENDPOINT" not in str(error.hint)


def test_a_storage_host_where_nobody_listens(hub: HubServer) -> None:
    read = model(hub)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"http://127.0.0.1:{unused.getsockname()[1]}"
        stored_at(hub, host)
        assert failing(read).found == f"no connection to {host}: it refuses connections"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_storage_host_with_troubles(hub: HubServer, status: int) -> None:
    read = model(hub)
    hub.fail("status", host="cdn", status=status)
    error = failing(read)
    assert error.found.startswith(hub.cdn) and hub.endpoint not in error.found
    assert hub.meter.count("cdn") == 5


def test_a_storage_host_that_stalls(hub: HubServer) -> None:
    read = model(hub, timeout=0.1)
    hub.fail("stall", host="cdn", seconds=5, after=10)
    error = failing(read)
    assert isinstance(error, RequestTimeoutError)
    assert error.found == f"{hub.cdn} did not answer in time"


@pytest.mark.parametrize("kind", ["reset", "cut", "page", "body"])
def test_a_storage_host_that_sends_something_else(hub: HubServer, kind: str) -> None:
    read = model(hub)
    hub.fail(kind, host="cdn", after=10, headers={"Content-Range": "bytes 1-2/3"})
    assert hub.cdn in failing(read).found


@pytest.mark.parametrize("host", ["hub", "cdn"])
def test_the_time_of_a_model_that_passes_names_whom_it_passed_with(
    hub: HubServer, host: str
) -> None:
    hub.add("org/model", {FILE: sparse(DATA, 1 << 30)})
    hub.fail("stall", host=host, seconds=5, after=10)
    read = HubSource("org/model", client=client(hub), deadline=Deadline(0.3))
    with pytest.raises(RequestTimeoutError) as caught:
        read.read(FILE, 0, 100)
    place = hub.cdn if host == "cdn" else hub.endpoint
    assert caught.value.found.endswith(f"0.3 seconds, the last of them waiting for {place}")


# ---- certificates


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def trusted(own: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authority]:
    """What it signs is trusted, as SSL_CERT_FILE says."""
    monkeypatch.setenv("SSL_CERT_FILE", str(own.trusted))
    _tls.cache_clear()
    yield own
    _tls.cache_clear()


REFUSED = {
    "expired": ("has expired", "renew"),
    "another host": ("is for another host", "in its place"),
    "self-signed": ("is self-signed", "set SSL_CERT_FILE"),
    "an unknown authority": ("is signed by an authority that is not trusted", "set SSL_CERT_FILE"),
}


def refused(own: Authority, folder: Path, what: str) -> Path:
    if what == "expired":
        return own.signed("expired", days=-1)
    if what == "another host":
        return own.signed("other", "mirror.example")
    return CERTIFICATE if what == "self-signed" else authority(folder).signed("unknown")


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("who", ["hub", "storage"])
def test_certificates_that_are_refused(
    hub: HubServer, trusted: Authority, tmp_path: Path, what: str, who: str
) -> None:
    """The reason, the host and the one hint that fits; nobody connects twice."""
    found, hint = REFUSED[what]
    with scripted([OK] * 3, secure=True, certificate=refused(trusted, tmp_path, what)) as server:
        if who == "hub":
            read = HubSource("org/model", endpoint=server.url, token=False)
            with pytest.raises(NetworkError) as caught:
                read.list_files()
            error: HfinspectError = caught.value
            read.close()
        else:
            read = model(hub)
            stored_at(hub, server.url)
            error = failing(read)
        assert error.found == f"the certificate of {server.url} {found}"
        assert hint in str(error.hint)
        assert ("SSL_CERT_FILE" in str(error.hint)) == ("SSL_CERT_FILE" in hint)
        assert (server.connections, server.requests) == (1, 0)


def test_an_own_authority_is_trusted_where_it_is_named(trusted: Authority) -> None:
    listing = b'{"siblings": [{"rfilename": "a", "size": 2}]}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(listing), listing)
    with scripted([answer], secure=True, certificate=trusted.signed("good")) as server:
        read = HubSource("org/model", endpoint=server.url, token=False)
        assert list(read.list_files()) == ["a"]
        read.close()


def test_a_server_without_encryption(trusted: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for _ in range(2):
                sock, _address = server.accept()
                with sock:
                    sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        read = HubSource("org/model", endpoint=url, token=False)
        read.client.throttle.sleep = Pauses().sleep
        with pytest.raises(NetworkError, match="encryption fails"):
            read.list_files()
        read.close()


# ---- what the server says of it


def test_what_a_server_says_is_shown(hub: HubServer) -> None:
    said = {"X-Error-Message": "The storage is being repaired.", "X-Request-Id": "Root=1-67-ab"}
    hub.fail("status", status=501, headers={**said, "X-Amz-Cf-Id": "other"})
    with pytest.raises(NetworkError) as caught:
        source(hub, "org/model").list_files()
    shown = '"The storage is being repaired." (request Root=1-67-ab)'
    assert caught.value.server_said == shown
    assert caught.value.to_dict()["server_said"] == shown
    assert "repaired" not in str(caught.value)


@pytest.mark.parametrize("name", ["X-Request-Id", "x-amzn-trace-id", "x-amz-cf-id"])
def test_the_name_of_a_request(hub: HubServer, name: str) -> None:
    read = model(hub)
    hub.fail("status", host="cdn", status=403, headers={name: "abc-1"})
    error = failing(read)
    assert isinstance(error, UnauthorizedError)
    assert error.server_said == "(request abc-1)"
    assert hub.cdn in error.found


def test_the_usual_words_of_the_hub(hub: HubServer) -> None:
    with pytest.raises(RepoNotFoundError) as caught:
        source(hub, "org/model").list_files()
    assert caught.value.server_said == '"Invalid username or password."'
    assert "no such model" in caught.value.found


def test_what_a_server_says_is_bounded_and_has_no_control_characters(hub: HubServer) -> None:
    hub.fail(
        "status",
        status=501,
        headers={"X-Error-Message": "\x1b[31mred\xad" + "x" * 5000, "X-Request-Id": "i" * 5000},
    )
    with pytest.raises(NetworkError) as caught:
        source(hub, "org/model").list_files()
    said = str(caught.value.server_said)
    assert said.startswith('"\N{REPLACEMENT CHARACTER}[31mred') and said.isprintable()
    assert len(said) < 300


def test_a_server_that_repeats_the_token_is_not_quoted(hub: HubServer) -> None:
    hub.fail("status", status=403, headers={"X-Error-Message": "hf_reader may not do this"})
    with pytest.raises(AccessError) as caught:
        source(hub, "org/model", token="hf_reader").list_files()
    assert caught.value.server_said == '"*** may not do this"'


def test_a_limit_is_explained_by_the_server_too(hub: HubServer) -> None:
    hub.fail("status", status=429, headers={"Retry-After": "900", "X-Error-Message": "Too many."})
    with pytest.raises(RateLimitedError) as caught:
        source(hub, "org/model").list_files()
    assert caught.value.server_said == '"Too many."' and caught.value.retry_after == 900


def test_it_is_a_line_of_its_own_on_a_terminal(hub: HubServer, tmp_path: Path) -> None:
    hub.fail("status", status=501, headers={"X-Error-Message": "No.", "X-Request-Id": "7"})
    done = process("org/model", "-f", "json", env=hub.env(tmp_path))
    lines = done.err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error", "server", "hint"]
    assert lines[1] == 'server: "No." (request 7)'
    assert json.loads(done.out)["error"]["server_said"] == '"No." (request 7)'


# ---- what stays as it is, and is not tried again


def test_an_encoding_that_nobody_knows(hub: HubServer) -> None:
    hub.fail("body", body=b"zzzz", headers={"Content-Encoding": "zstd"})
    with pytest.raises(NetworkError, match="sent the encoding zstd, which hfinspect did"):
        source(hub, "org/model").list_files()
    assert hub.meter.count("hub") == 1


def test_a_range_that_was_not_requested(hub: HubServer) -> None:
    read = model(hub)
    hub.fail("range", host="cdn")
    error = failing(read)
    assert error.found == f"{hub.cdn} answered bytes 1-100 where 0-99 were requested"
    assert hub.meter.count("cdn") == 1


# ---- as huggingface_hub does


@pytest.mark.parametrize(("length", "is_read"), [(20, True), (21, False)])
def test_redirects_in_a_row(hub: HubServer, length: int, is_read: bool) -> None:
    hub.add("org/model", {"a": b"1"})
    for step in range(length):
        location = f"/api/models/org/model?blobs=true&step={step}"
        hub.fail("status", "/api/", status=307, times=1, headers={"Location": location})
    asking = source(hub, "org/model")
    if is_read:
        assert list(asking.list_files()) == ["a"]
    else:
        with pytest.raises(NetworkError, match="redirects more than 20 times"):
            asking.list_files()
    assert hub.meter.count("hub") == 21


@pytest.fixture
def moved(hub: HubServer) -> Iterator[HubServer]:
    """A Hub that ``hub`` leads to, whatever is requested of it."""
    with running_hub() as there:
        hub.moved_to = there.endpoint
        yield there


def test_an_endpoint_that_moves_its_whole_api(hub: HubServer, moved: HubServer) -> None:
    moved.add("org/model", model_files())
    inspection = hfinspect.inspect(
        "org/model", endpoint=hub.endpoint, token="hf_reader", cache=None
    )
    assert inspection.parameters and inspection.commit == moved.repos["org/model"].sha
    assert hub.meter.requests and moved.meter.requests
    assert {r.headers.get("authorization") for r in hub.meter.requests} == {"Bearer hf_reader"}
    assert not any("authorization" in r.headers for r in moved.meter.requests)
    assert moved.meter.tokens_leaked == 0


def test_what_it_keeps_from_the_anonymous_names_the_new_host(
    hub: HubServer, moved: HubServer
) -> None:
    moved.add("org/model", model_files(), private=True, readers=frozenset({"reader"}))
    with pytest.raises(RepoNotFoundError) as caught:
        source(hub, "org/model", token="hf_reader").list_files()
    assert f"no such model on {moved.endpoint}" in caught.value.found
    hint = f"the token is sent to {hub.endpoint} alone: set HF_ENDPOINT={moved.endpoint}"
    assert str(caught.value.hint).startswith(hint)


def test_a_token_does_not_come_back_from_elsewhere(hub: HubServer, moved: HubServer) -> None:
    """Not even to the Hub, where a stranger says what is requested."""
    hub.moved_to = ""
    hub.add("org/model", {"a": b"1"}, private=True, readers=frozenset({"reader"}))
    hub.fail("status", "/api/", times=1, status=307, headers={"Location": f"{moved.endpoint}/x"})
    back = f"{hub.endpoint}/api/models/org/model"
    moved.fail("status", status=307, headers={"Location": back})
    with pytest.raises(RepoNotFoundError):
        source(hub, "org/model", token="hf_reader").list_files()
    sent = [request.headers.get("authorization") for request in hub.meter.requests]
    assert sent == ["Bearer hf_reader", None]


def test_the_list_of_models_of_a_hub_that_has_moved(hub: HubServer, moved: HubServer) -> None:
    moved.page_size = 2
    for number in range(5):
        moved.add(f"org/m{number}", {"a": b"1"})
    models = list_models(client(hub, token="hf_reader"), author="org", limit=5)
    assert len(list(models)) == 5
    assert not any("authorization" in request.headers for request in moved.meter.requests)


@pytest.mark.parametrize("count", [101, 1000])
def test_more_than_a_hundred_headers(hub: HubServer, count: int) -> None:
    hub.add("org/model", {"a": b"1"})
    hub.more_headers = {f"X-Policy-{number}": "of a careful proxy" for number in range(count)}
    assert source(hub, "org/model").read_all("a", 9) == b"1"


def test_the_origin_of_the_user_agent_is_sent(hub: HubServer, tmp_path: Path) -> None:
    """As huggingface_hub reads it, in a new process, and as it sends it itself."""
    hub.add("org/model", {"a": b"1"})
    code = (
        "import hfinspect.sources.hub.repo as hub, huggingface_hub\n"
        "model = hub.HubSource('org/model')\nmodel.list_files()\nmodel.close()\n"
        "huggingface_hub.HfApi().model_info('org/model')\n"
    )
    env = {**hub.env(tmp_path), "HF_HUB_USER_AGENT_ORIGIN": "a-notebook/7"}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    ours, theirs = (request.headers["user-agent"] for request in hub.meter.requests)
    assert ours.startswith("hfinspect/") and ours.endswith("; origin/a-notebook/7")
    assert theirs.endswith("; origin/a-notebook/7")


def test_an_origin_that_no_header_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_USER_AGENT_ORIGIN", "a\r\nAuthorization: b")
    with pytest.raises(UsageError, match="HF_HUB_USER_AGENT_ORIGIN") as caught:
        HubSource("org/model", endpoint="http://127.0.0.1:9", token=False).list_files()
    assert "Authorization" not in str(caught.value)


def test_a_storage_host_that_hides_content_range(hub: HubServer) -> None:
    """What comes is just as long as what was requested."""
    read = model(hub)
    hub.hides_content_range = True
    assert read.read(FILE, 10, 100) == DATA[10:100]
    assert read.read(FILE, (1 << 30) - 7, 1 << 31) == bytes(7)
    assert hub.meter.count("cdn") == 2


def test_a_hidden_content_range_with_another_length(hub: HubServer) -> None:
    """Of a file whose size is not listed the end is not known: nothing proves the range."""
    hub.lists_sizes = False
    hub.add("org/model", {FILE: sparse(DATA, 50)})
    hub.hides_content_range = True
    read = source(hub, "org/model")
    with pytest.raises(NetworkError, match="206 without a usable Content-Range"):
        read.read(FILE, 0, 100)
    assert hub.meter.count("cdn") == 1


# ---- proxies


@pytest.fixture
def no_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_a_proxy_that_nobody_runs_is_named(
    monkeypatch: pytest.MonkeyPatch, no_exceptions: None
) -> None:
    with scripted() as gone:
        pass
    monkeypatch.setenv("HTTP_PROXY", gone.url.replace("//", "//me:s3cret@"))
    monkeypatch.setenv("http_proxy", gone.url.replace("//", "//me:s3cret@"))
    asking = HubClient(endpoint="http://hub.invalid", token=False)
    asking.throttle.sleep = Pauses().sleep
    with pytest.raises(NetworkError) as caught:
        HubSource("org/model", client=asking).list_files()
    shown = gone.url.replace("//", "//***@")
    assert caught.value.found == f"no connection to the proxy {shown}: it refuses connections"
    assert "NO_PROXY" in str(caught.value.hint)
    asking.close()


def test_a_proxy_that_refuses(monkeypatch: pytest.MonkeyPatch, no_exceptions: None) -> None:
    answer = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
    with scripted([answer], [answer]) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        asking = HubClient(endpoint="https://hub.invalid", token=False)
        asking.throttle.sleep = Pauses().sleep
        with pytest.raises(NetworkError) as caught:
            HubSource("org/model", client=asking).list_files()
        found = "the proxy refuses the connection to https://hub.invalid"
        assert caught.value.found.startswith(found)
        asking.close()
