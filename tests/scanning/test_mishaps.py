"""What goes wrong on a Hub while a scan runs: one row each, named right, and the rest unharmed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ..hub_server import HubServer
from .mishaps import EXPECTED, mixed_hub
from .scan_support import PARAMETERS, Scanner, fill


@pytest.fixture
def scan(hub: HubServer, tmp_path: Path) -> Scanner:
    return Scanner(hub, tmp_path)


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "1"}, {"RateLimit": '"api";r=0;t=0'}], ids=["retry", "ratelimit"]
)
def test_a_rate_limit_slows_down_and_fails_nothing(scan: Scanner, headers: dict[str, str]) -> None:
    """Everybody waits as long as the one answer says; nobody asks meanwhile."""
    listed = scan.list_of(fill(scan.hub, 20))
    scan.hub.fail("status", "/api/models/org/m0003", times=1, status=429, headers=headers)
    begun = time.monotonic()
    done = scan(listed, "--jobs", "4", "--no-cache")
    assert done.code == 0
    assert 1 <= time.monotonic() - begun < 6
    assert sum(request.status == 429 for request in scan.hub.meter.requests) == 1


def test_the_last_of_a_window_is_heeded_before_a_refusal(scan: Scanner) -> None:
    """A good answer that says nothing remains: the next waits, and no 429 comes at all."""
    listed = scan.list_of(fill(scan.hub, 3))
    scan.hub.quota = '"api";r=0;t=1'
    begun = time.monotonic()
    assert scan(listed, "--jobs", "1", "--no-cache").code == 0
    assert time.monotonic() - begun >= 2
    assert {request.status for request in scan.hub.meter.requests} <= {200, 206, 302}


def test_one_stalled_target_times_out_alone(scan: Scanner) -> None:
    names = fill(scan.hub, 30)
    scan.hub.fail("stall", "/api/models/org/m0005", seconds=30)
    done = scan(scan.list_of(names), "--timeout", "1", "--jobs", "4", "--no-cache")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["target"] for row in rows] == names
    assert [row["error_kind"] for row in rows if row["status"] != "ok"] == ["timeout"]
    assert rows[4]["status"] == "failed"


def test_all_mishaps_at_once(scan: Scanner) -> None:
    """Of 120 models nine have one: 404, gated, malformed, 429, a burst of 503, resets, a stall.
    ``benchmarks/bench_scan.py`` does the same with 2,000."""
    names = mixed_hub(scan.hub, 120)
    scan.hub.latency = 0.02
    done = scan(scan.list_of(names), "--jobs", "32", "--timeout", "3", "--no-cache")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["target"] for row in rows] == names
    assert {row["target"]: row["error_kind"] for row in rows} == {
        name: EXPECTED[name.partition("/")[0]] for name in names
    }
    assert all(
        row["parameters"] == PARAMETERS and row["beyond"] and row["commit"]
        for row in rows
        if row["status"] == "ok"
    )
    assert done.code == 1
