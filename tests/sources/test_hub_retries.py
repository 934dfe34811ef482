"""Mishaps on the wire: what is tried again, how long, and what is said in the end."""

from __future__ import annotations

import os
import socket
import ssl
from pathlib import Path

import pytest

from hfinspect.errors import (
    NetworkError,
    RateLimitedError,
    RequestTimeoutError,
    UnreadableError,
    UsageError,
)
from hfinspect.sources.hub.client import HubClient
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.hub.throttle import RetryPolicy, rate_limit, retry_after
from hfinspect.sources.hub.wire.http import own_session
from hfinspect.sources.hub.wire.lazy_tls import LateContext
from hfinspect.sources.source import FileEntry

from ..cli.program import process
from ..hub_repos import sparse
from ..hub_server import HubServer
from .hub_support import Pauses, client, source

DATA = bytes(range(256)) * 400


def _model(hub: HubServer, pauses: Pauses | None = None, **options: float) -> HubSource:
    hub.add("org/model", {"config.json": b"{}" * 50, "model.safetensors": sparse(DATA, 1 << 30)})
    return source(hub, "org/model", pauses=pauses, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["status", "reset", "cut", "short"])
@pytest.mark.parametrize("host", ["hub", "cdn"])
def test_passing_mishaps_are_retried(hub: HubServer, kind: str, host: str) -> None:
    """Twice a 503, a reset in mid-body, a cut body, a wrong Content-Length."""
    pauses = Pauses()
    model = _model(hub, pauses)
    model.list_files()
    hub.fail(kind, "config.json" if host == "hub" else "/repos/", host=host, times=2, after=30)
    path, expected = (
        ("config.json", b"{}" * 50) if host == "hub" else ("model.safetensors", DATA[:100])
    )
    assert model.read(path, 0, 100) == expected
    assert pauses.slept == [0.5, 1.0]


@pytest.mark.parametrize("kind", ["status", "reset", "cut", "short"])
def test_lasting_mishaps_end_in_an_error(hub: HubServer, kind: str) -> None:
    pauses = Pauses()
    model = _model(hub, pauses)
    model.list_files()
    hub.fail(kind, host="cdn", after=30)
    with pytest.raises(NetworkError, match="org/model") as caught:
        model.read("model.safetensors", 0, 100)
    assert hub.meter.count("cdn") == 5
    assert pauses.slept == [0.5, 1.0, 2.0, 4.0]
    assert caught.value.where == "model.safetensors"
    assert caught.value.hint


def test_a_whole_file_that_is_cut_is_noticed(hub: HubServer) -> None:
    """Its frame is right, but it is shorter than the file list says."""
    model = _model(hub)
    hub.fail("cut", "config.json")
    with pytest.raises(NetworkError, match="sent 50 of 100 bytes"):
        model.read_all("config.json", 1000)


def test_a_size_that_differs_from_the_list_is_an_error(hub: HubServer) -> None:
    repo = hub.add("org/model", {"model.safetensors": sparse(b"abc", 50)})
    model = source(hub, "org/model")
    model.list_files()
    repo.files(repo.sha)["model.safetensors"] = sparse(b"abc", 60)
    with pytest.raises(NetworkError, match="60 bytes, expected 50 as in the file list"):
        model.read("model.safetensors", 0, 10)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (
            {"RateLimit": '"api";r=0;t=55', "RateLimit-Policy": '"fixed window";"api";q=500;w=300'},
            56,
        ),
        ({"Retry-After": "7"}, 7),
    ],
)
def test_429_waits_as_long_as_the_server_says(
    hub: HubServer, headers: dict[str, str], seconds: float
) -> None:
    pauses = Pauses()
    model = _model(hub, pauses)
    hub.fail("status", "/api/models", times=1, status=429, headers=headers)
    assert model.origin.commit is None
    assert len(model.list_files()) == 2
    assert pauses.slept == [seconds + 1]  # and a second, lest all threads wake at once


def test_429_without_a_word_backs_off(hub: HubServer) -> None:
    pauses = Pauses()
    hub.fail("status", times=3, status=429)
    _model(hub, pauses).list_files()
    assert pauses.slept == [0.5, 1.0, 2.0]


def test_longer_waits_than_allowed_are_an_error_at_once(hub: HubServer) -> None:
    pauses = Pauses()
    hub.fail("status", status=429, headers={"RateLimit": '"api";r=0;t=280'})
    with pytest.raises(RateLimitedError) as caught:
        _model(hub, pauses).list_files()
    assert caught.value.retry_after == 281
    assert caught.value.hint == "try again in 281 seconds; with a token the limits are higher"
    assert pauses.slept == []


def test_the_sum_of_waits_is_bounded(hub: HubServer) -> None:
    pauses = Pauses()
    hub.fail("status", status=429, headers={"Retry-After": "25"})
    with pytest.raises(RateLimitedError):
        _model(hub, pauses, policy=RetryPolicy(attempts=9)).list_files()  # type: ignore[arg-type]
    assert pauses.now == 52


def test_a_scan_may_wait_for_the_next_window(hub: HubServer) -> None:
    pauses = Pauses()
    hub.fail("status", times=1, status=429, headers={"RateLimit": '"api";r=0;t=280'})
    _model(hub, pauses, policy=RetryPolicy(max_wait=300)).list_files()  # type: ignore[arg-type]
    assert pauses.now == 282


def test_the_limiter_is_shared_and_knows_quotas_apart(hub: HubServer) -> None:
    """One model has to wait for the api: another of the same client waits too; files do not."""
    pauses = Pauses()
    shared = client(hub, pauses=pauses)
    hub.add("org/a", {"config.json": b"a"})
    hub.add("org/b", {"config.json": b"b"})
    first = HubSource("org/a", client=shared)
    second = HubSource("org/b", client=shared)
    first.list_files()
    shared.throttle.block("api", 20)
    assert first.read_all("config.json", 9) == b"a"
    assert pauses.slept == []
    second.list_files()
    assert pauses.slept == [21]


def test_an_answer_that_says_it_was_the_last_one_is_heeded(hub: HubServer) -> None:
    pauses = Pauses()
    shared = client(hub, pauses=pauses)
    repo = hub.add("org/a", {"config.json": b"a"})
    hub.add("org/b", {"config.json": b"b"})
    assert rate_limit({"ratelimit": '"api";r=0;t=9'}) == (0, 9)
    shared.throttle.note("api", {"ratelimit": '"api";r=0;t=9'})
    shared.throttle.note("resolve", {"ratelimit": '"resolvers";r=17;t=9'})
    shared.throttle.note("cdn", {"ratelimit": '"cdn";r=0;t=290'})  # longer than one may wait
    HubSource(repo.id, client=shared).read_all("config.json", 9)
    assert pauses.slept == [10]


def test_a_silent_server_times_out(hub: HubServer) -> None:
    model = _model(hub, timeout=0.15)
    hub.fail("stall", "/api/", seconds=5)
    with pytest.raises(RequestTimeoutError, match="did not answer in time") as caught:
        model.list_files()
    assert "HF_HUB_DOWNLOAD_TIMEOUT" in str(caught.value.hint)
    assert hub.meter.count("hub") == 3


def test_a_stall_in_mid_body_is_retried(hub: HubServer) -> None:
    model = _model(hub, timeout=0.05)
    hub.fail("stall", "/repos/", times=1, seconds=5, after=50)
    assert model.read("model.safetensors", 0, 100) == DATA[:100]


def test_a_trickle_is_a_stall(hub: HubServer) -> None:
    """Each wait is short, but at a byte a second a header would take a day."""
    pauses = Pauses()
    model = _model(hub, pauses)
    model.list_files()
    hub.fail("trickle", "/repos/", seconds=0.001)
    ticks = iter(range(10**6))
    model.client.throttle.clock = lambda: float(next(ticks))
    with pytest.raises(RequestTimeoutError):
        model.read("model.safetensors", 0, 100_000)
    assert hub.meter.count("cdn") == 3


def test_a_portals_page_is_not_an_answer(hub: HubServer) -> None:
    model = _model(hub)
    hub.fail("page")
    with pytest.raises(NetworkError, match="web page where JSON was expected") as caught:
        model.list_files()
    assert "log-in page" in str(caught.value.hint)
    assert hub.meter.count("hub") == 1


@pytest.mark.parametrize("host", ["hub", "cdn"])
def test_a_portals_page_in_place_of_a_file(hub: HubServer, host: str) -> None:
    model = _model(hub)
    model.list_files()
    hub.fail("page", host=host)
    with pytest.raises(NetworkError, match="web page in place of the file"):
        model.read("model.safetensors", 0, 9)
    assert hub.meter.count("hub", "/resolve/") == 1


@pytest.mark.parametrize(
    "location", ["http://portal.invalid/login", "ftp://x/y", "http://[::1", "//"]
)
def test_an_api_that_leads_nowhere(hub: HubServer, location: str) -> None:
    hub.fail("status", "/api/", status=302, headers={"Location": location})
    with pytest.raises(NetworkError):
        _model(hub).list_files()


def test_redirects_in_circles_end(hub: HubServer) -> None:
    hub.fail("status", "/api/", status=307, headers={"Location": "/api/models/org/model"})
    with pytest.raises(NetworkError, match="circles"):
        _model(hub).list_files()
    assert hub.meter.count("hub") == 21


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", f"http://{'a' * 70}.test/x", "http://..:80/"]
)
def test_files_are_not_read_from_other_schemes(hub: HubServer, location: str) -> None:
    hub.fail("status", "/resolve/", status=302, headers={"Location": location})
    with pytest.raises(NetworkError, match="neither http nor https"):
        _model(hub).read("model.safetensors", 0, 9)


@pytest.mark.parametrize("status", [300, 302, 304, 399])
def test_a_redirect_to_nowhere_is_no_file(hub: HubServer, status: int) -> None:
    """Even where no list says how large the file is."""
    hub.lists_sizes = False
    hub.fail("status", "/resolve/", status=status)
    with pytest.raises(NetworkError, match=f"answered only with status {status}"):
        _model(hub).read_all("config.json", 100)


def test_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
        pauses = Pauses()
        model = HubSource("org/model", endpoint=endpoint, token=False)
        model.client.throttle.sleep = pauses.sleep
        with pytest.raises(NetworkError, match=f"no connection to {endpoint}") as caught:
            model.list_files()
        model.close()
    assert "HF_ENDPOINT" in str(caught.value.hint)
    assert len(pauses.slept) == 1


@pytest.mark.parametrize(
    "endpoint",
    ["ftp://127.0.0.1", "127.0.0.1", "http://", "http://[::1", "http://x:99999", "http://a b"],
)
def test_endpoints_that_are_none(endpoint: str) -> None:
    with pytest.raises(UsageError, match="not the address of a Hub") as caught:
        HubSource("org/model", endpoint=endpoint, token=False)
    assert "HF_ENDPOINT" in str(caught.value.hint)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_times_that_nobody_can_wait(seconds: float) -> None:
    with pytest.raises(UsageError, match="is impossible"):
        HubClient(timeout=seconds, token=False)


def test_a_variable_that_the_client_refuses(tmp_path: Path) -> None:
    """It reads them when it is imported, so in a process of its own."""
    done = process("org/model", env={"HF_HOME": str(tmp_path), "HF_HUB_DOWNLOAD_TIMEOUT": "soon"})
    assert (done.code, done.out) == (2, "")
    assert "refused by huggingface_hub" in done.err and "hint: check HF_ENDPOINT" in done.err


def test_proxies_and_certificates_of_no_sense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "carrier://pigeon")
    with pytest.raises(UsageError, match=r"the proxy settings: .* \(Unknown scheme"):
        own_session(1)


def test_authorities_are_read_when_the_first_connection_needs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = LateContext(ssl.create_default_context)
    context.set_alpn_protocols(["http/1.1"])
    assert context.cert_store_stats()["x509_ca"] == 0
    secured = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    assert secured.context is not context and secured.context.check_hostname
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    late = LateContext(lambda: ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"]))
    late.begin()
    with pytest.raises(UnreadableError, match="No such file") as caught:
        late.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    assert "SSL_CERT_FILE" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("siblings", "found"),
    [
        (None, "not a model's file list"),
        ("config.json", "not a model's file list"),
        (["config.json"], "whose name no repository can hold"),
        ([{}], "whose name no repository can hold"),
        ([{"rfilename": 7}], "whose name no repository can hold"),
        ([{"rfilename": "a/../../b"}], "whose name no repository can hold"),
        ([{"rfilename": "/etc/passwd"}], "whose name no repository can hold"),
        ([{"rfilename": ""}], "whose name no repository can hold"),
    ],
)
def test_strange_lists_are_refused(hub: HubServer, siblings: object, found: str) -> None:
    hub.add("org/model", {}, info={"siblings": siblings})
    with pytest.raises(NetworkError, match=found):
        source(hub, "org/model").list_files()


@pytest.mark.parametrize("size", [-1, 1.5, True, "7", None])
def test_sizes_that_are_none_are_unknown(hub: HubServer, size: object) -> None:
    siblings = [{"rfilename": "a", "size": size, "lfs": {"sha256": size}}]
    hub.add("org/model", {"a": b"12"}, info={"siblings": siblings, "sha": size, "id": "../x"})
    model = source(hub, "org/model")
    assert model.list_files() == {"a": FileEntry("a")}
    assert model.read_all("a", 10) == b"12"  # of main, as no commit was reported
    assert model.origin.commit is None


def test_waits_as_headers_say_them() -> None:
    assert retry_after({"retry-after": "12"}) == 12
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) is None
    assert retry_after({"retry-after": "9" * 30}) is None
    assert retry_after({"ratelimit": '"api";r=3;t=55'}) is None
    assert retry_after({}) is None
