"""No server holds a request, or a model, longer than its time; and none fills the memory."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import hfinspect
from hfinspect.errors import (
    HfinspectError,
    LimitError,
    NetworkError,
    RequestTimeoutError,
    UsageError,
)
from hfinspect.sources.deadline import MAX_GRANTED, Deadline
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.hub.throttle import RetryPolicy

from ..hub_repos import StoredFile, sharded_files
from ..hub_server import HubServer
from ..scanning.scan_support import Scanner, fill, model_files
from .hub_support import client

#: Between two bytes: no wait on the network is ever as long as its timeout.
DRIP = 0.02


@contextmanager
def taking(least: float, most: float) -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert least <= time.monotonic() - begun < most


@pytest.mark.parametrize("match", ["/api/models/", "model.safetensors"])
def test_dripped_headers_end_with_the_timeout(hub: HubServer, match: str) -> None:
    hub.add("org/model", model_files())
    hub.fail("drip", match, seconds=DRIP)
    with (
        taking(0.4, 2),
        pytest.raises(RequestTimeoutError, match=r"did not finish within 0\.5 sec"),
    ):
        hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint, timeout=0.5)


def test_dripped_headers_of_storage(hub: HubServer) -> None:
    hub.add("org/model", model_files())
    hub.fail("drip", host="cdn", seconds=DRIP)
    with taking(0.4, 2), pytest.raises(RequestTimeoutError):
        hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint, timeout=0.5)


def test_a_dripped_body_ends_with_the_timeout(hub: HubServer) -> None:
    hub.add("org/model", model_files())
    hub.fail("trickle", "/api/models/", seconds=DRIP)
    # Well before three waits have passed, after which a body that trickles is given up anyway.
    with taking(0.9, 2.6), pytest.raises(RequestTimeoutError):
        hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint, timeout=1)


def test_without_a_timeout_a_request_has_three_waits(hub: HubServer) -> None:
    """One try: a head that is not there after three times the longest wait never comes."""
    hub.fail("drip", seconds=DRIP)
    made = client(hub, timeout=0.1, policy=RetryPolicy(timeout_attempts=1))
    with taking(0.25, 1.5), pytest.raises(RequestTimeoutError, match="did not answer in time"):
        HubSource("org/model", client=made).list_files()


def test_many_slow_answers_are_one_slow_model(hub: HubServer) -> None:
    """Each shard answers well within the time of a request; all together do not."""
    hub.add("org/model", sharded_files(400, 1))
    hub.has_headers_endpoint = False
    hub.latency = 0.25
    with taking(0.7, 3), pytest.raises(RequestTimeoutError):
        hfinspect.inspect("org/model@main", token=False, endpoint=hub.endpoint, timeout=1)


def test_after_the_deadline_nothing_is_requested(hub: HubServer) -> None:
    """The connection is open, and the server would answer at once."""
    hub.add("org/model", model_files())
    deadline = Deadline(0.6)
    source = HubSource("org/model", client=client(hub), deadline=deadline)
    assert source.list_files()
    asked = len(hub.meter.requests)
    time.sleep(max(deadline.left(), 0.0) + 0.01)
    with pytest.raises(RequestTimeoutError, match=r"did not finish within 0\.6 seconds"):
        source.read("config.json", 0, 10)
    assert len(hub.meter.requests) == asked


def test_a_server_that_accepts_and_says_nothing() -> None:
    """Also as a TLS server: neither the handshake nor the answer comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        for scheme in ("http", "https"):
            endpoint = f"{scheme}://127.0.0.1:{server.getsockname()[1]}"
            with taking(0.2, 2), pytest.raises(RequestTimeoutError):
                hfinspect.inspect("org/model", token=False, endpoint=endpoint, timeout=0.3)


def test_a_stuck_target_of_a_scan_is_a_failed_row(hub: HubServer, tmp_path: object) -> None:
    """And the rows after it are written, by one worker."""
    scan = Scanner(hub, tmp_path)  # type: ignore[arg-type]
    names = fill(hub, 4)
    hub.fail("drip", f"/api/models/{names[1]}", seconds=DRIP)
    begun = time.monotonic()
    done = scan(scan.list_of(names), "--timeout", "0.7", "--jobs", "1", "--no-cache")
    assert time.monotonic() - begun < 6  # far below any other limit
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["target"], row["error_kind"]) for row in rows] == [
        (name, "timeout" if name == names[1] else None) for name in names
    ]


def test_what_a_server_asks_us_to_wait_is_granted(hub: HubServer) -> None:
    hub.add("org/model", model_files())
    hub.fail("status", times=1, status=429, headers={"Retry-After": "1"})
    inspection = hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint, timeout=0.9)
    assert inspection.parameters


def test_but_not_for_ever() -> None:
    deadline = Deadline(1)
    for _ in range(100):
        deadline.grant(300)
    assert deadline.left() <= 1 + MAX_GRANTED


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 1e9])
def test_impossible_timeouts(seconds: float) -> None:
    with pytest.raises(UsageError, match="is impossible"):
        hfinspect.inspect("org/model", timeout=seconds)


# ---- sizes


@pytest.mark.parametrize("bomb", [False, True])
def test_a_file_list_without_end(
    hub: HubServer, bomb: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is, or as a few bytes of gzip that inflate to it."""
    limit = 1 << 20
    monkeypatch.setattr("hfinspect.sources.hub.repo.MAX_LISTING_BYTES", limit)
    body = b'{"siblings":[' + b" " * (4 << 20)
    headers = {"Content-Type": "application/json"}
    if bomb:
        body = gzip.compress(body)
        headers["Content-Encoding"] = "gzip"
    hub.fail("body", "/api/models/", body=body, headers=headers)
    with pytest.raises(LimitError) as caught:
        HubSource("org/model", client=client(hub)).list_files()
    assert str(caught.value) == (
        f"org/model: the Hub's answer about it is larger, expected at most {limit:,} bytes"
    )
    assert caught.value.exit_code == 4


def test_more_weight_files_than_are_worth_asking_for(hub: HubServer) -> None:
    """5,000 shards are refused with their number after two requests, by inspect and by audit."""
    weight = StoredFile(b"", 1000, lfs=True)
    shards = [f"model-{number:05d}-of-05000.safetensors" for number in range(1, 5001)]
    hub.add("org/model", {"config.json": b"{}", **dict.fromkeys(shards, weight)})
    for verb in (hfinspect.inspect, hfinspect.audit):
        hub.meter.clear()
        with pytest.raises(LimitError, match="has 5,000 weight files to be read"):
            verb("org/model", token=False, endpoint=hub.endpoint)
        assert len(hub.meter.requests) <= 3


def test_a_small_file_must_have_the_hash_that_is_listed(hub: HubServer) -> None:
    content = b'{"model_type": "gpt2"}'
    hub.add("org/model", {"config.json": StoredFile(content, len(content), lfs=True)})
    assert HubSource("org/model", client=client(hub)).read_all("config.json", 100) == content
    hub.fail("body", host="cdn", body=content.replace(b"gpt2", b"bert"))
    with pytest.raises(NetworkError, match="sent a file of another sha256 than it has listed"):
        HubSource("org/model", client=client(hub)).read_all("config.json", 100)


def test_a_small_file_without_end(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": b" " * 100_000})
    hub.lists_sizes = False
    with pytest.raises(HfinspectError, match="is larger, expected at most 1,000 bytes"):
        HubSource("org/model", client=client(hub)).read_all("config.json", 1000)
