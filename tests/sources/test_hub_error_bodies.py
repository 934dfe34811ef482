"""Whatever a server puts into an error answer: one sentence, and the exit code of its status."""

from __future__ import annotations

import itertools
import json

import pytest

from hfinspect.errors import HfinspectError, RepoNotFoundError
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.hub.throttle import RetryPolicy

from ..hub_server import HubServer
from ..scanning.scan_support import Scanner, fill
from .hub_support import client

#: Status -> the kind of error it is, for the list of files.
KINDS = {
    400: "network",
    403: "unauthorized",
    404: "repo_not_found",
    408: "timeout",
    409: "network",
    418: "network",
    451: "network",
    501: "network",
    999: "network",
}
BODIES = {
    "nothing": b"",
    "binary": bytes(range(256)),
    "list": b"[1,2]",
    "string": b'"x"',
    "number": b"5",
    "null": b"null",
    "errors as a number": b'{"errors":5}',
    "errors of numbers": b'{"errors":[1,null,{"message":["x"]}]}',
    "error of objects": b'{"error":[{"a":1},[2]]}',
    "huge": b'{"error":"' + b"x" * 200_000 + b'"}',
    "nested": b"[" * 50_000,
    "not utf-8": b'{"error":"\xff\xfe\x00"}',
}


def test_every_status_with_every_body(hub: HubServer) -> None:
    made = client(hub, policy=RetryPolicy(attempts=1))
    tried = 0
    for (status, kind), (name, body) in itertools.product(KINDS.items(), BODIES.items()):
        headers = {
            "Content-Type": "application/json",
            "X-Request-Id": "\x7f\xe9",
            "X-HF-Warning": "\x1b[2J",
        }
        hub.faults.clear()
        hub.fail("status", "/api/models/", status=status, body=body, headers=headers)
        with pytest.raises(HfinspectError) as caught:
            HubSource("org/model", client=made).list_files()
        error = caught.value
        assert (error.kind, error.exit_code) == (kind, 3), (status, name)
        assert "\n" not in str(error) and str(error).isprintable(), (status, name)
        tried += 1
    assert tried >= 70


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "x"])
def test_an_error_body_that_does_not_inflate(hub: HubServer, coding: str) -> None:
    made = client(hub, policy=RetryPolicy(attempts=1))
    hub.fail("status", status=409, body=b"\x00\x01", headers={"Content-Encoding": coding})
    with pytest.raises(HfinspectError, match="status 409"):
        HubSource("org/model", client=made).list_files()


@pytest.mark.parametrize("kind", ["short", "reset", "stall"])
def test_an_error_answer_whose_body_breaks_off_says_what_it_says(hub: HubServer, kind: str) -> None:
    """What the head says counts; the body is read for the connection's sake alone."""
    made = client(hub, timeout=0.3, policy=RetryPolicy(attempts=1))
    hub.fail(kind, "/api/models/", seconds=30, after=1)
    with pytest.raises(RepoNotFoundError):
        HubSource("org/none", client=made).list_files()


def test_in_a_scan_each_is_a_failed_row(hub: HubServer, tmp_path: object) -> None:
    scan = Scanner(hub, tmp_path)  # type: ignore[arg-type]
    names = fill(hub, len(BODIES))
    for name, body in zip(names, BODIES.values(), strict=True):
        hub.fail("status", f"/api/models/{name}", status=418, body=body)
    done = scan(scan.list_of(names), "--no-cache")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["target"], row["status"], row["error_kind"]) for row in rows] == [
        (name, "failed", "network") for name in names
    ]
