"""Scans of what the Hub lists: pages, no request that a page spares, totals alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hfinspect.errors import NetworkError
from hfinspect.sources.hub.client import HubClient
from hfinspect.sources.hub.search import list_models
from hfinspect.sources.hub.throttle import Throttle

from ..hub_api import Reply
from ..hub_http import Request
from ..hub_server import HubServer
from ..schemas import conforms
from .scan_support import Scanner, fill, model_files, rows_in


@pytest.fixture
def scan(hub: HubServer, tmp_path: Path) -> Scanner:
    return Scanner(hub, tmp_path)


def rows_of(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_scan_by_author_costs_one_api_call_a_page(scan: Scanner) -> None:
    names = fill(scan.hub, 7, "org")
    fill(scan.hub, 2, "other")
    scan.hub.page_size = 3
    done = scan("--author", "org", "--no-cache")
    assert [row["target"] for row in rows_of(done.out)] == names
    assert all(row["status"] == "ok" and row["commit"] for row in rows_of(done.out))
    assert scan.hub.meter.count("hub", "/api/") == 3
    assert scan.hub.meter.count("hub", "/resolve/") == 14  # config.json, and where the weights are
    assert scan.hub.meter.count("cdn") == 7


def test_its_rows_are_those_of_a_list_of_names(scan: Scanner) -> None:
    """The list of the Hub comes without sizes and hashes; that makes no difference but for the
    column of hashes, which is unknown then."""
    names = fill(scan.hub, 3)
    scan.hub.add("org/no-config", {"model.safetensors": model_files(9)["model.safetensors"]})
    scan.hub.add("org/text", {"README.md": b"# nothing"})
    listed = scan("--author", "org", "--no-cache")
    named = scan(scan.list_of([*names, "org/no-config", "org/text"]), "--no-cache")
    rows = [
        [{**row, "weights_sha256": None} for row in rows_of(one.out)] for one in (listed, named)
    ]
    assert rows[0] == rows[1]
    assert all(row["weights_sha256"] is None for row in rows_of(listed.out))
    assert (listed.code, named.code) == (1, 1)


def test_a_second_scan_by_author_asks_for_the_pages_alone(scan: Scanner) -> None:
    fill(scan.hub, 3)
    first = scan("--author", "org")
    scan.hub.meter.clear()
    assert scan("--author", "org").out == first.out
    assert scan.hub.meter.paths() == ["/api/models"]
    assert scan.hub.meter.count("cdn") == 0


def test_filters_search_sort_and_limit_are_the_hubs_own(scan: Scanner) -> None:
    for number, name in enumerate(("org/tiny-a", "org/tiny-b", "org/big-a", "org/tiny-c")):
        tags = ["text-generation"] if number != 1 else ["fill-mask"]
        scan.hub.add(name, model_files(), info={"tags": tags, "downloads": number})
    done = scan("--filter", "text-generation", "--search", "tiny", "--sort", "downloads")
    assert [row["target"] for row in rows_of(done.out)] == ["org/tiny-c", "org/tiny-a"]
    assert [r["target"] for r in rows_of(scan("--sort", "downloads", "--limit", "1").out)] == [
        "org/tiny-c"
    ]
    assert scan.hub.meter.requests[-1].query.get("limit") != ["1000"]


def test_totals_only_is_one_request_a_page(scan: Scanner) -> None:
    """The numbers are the Hub's, and the columns, the remark and the README say so."""
    told = {"parameters": {"BF16": 100, "F32": 20}, "total": 120}
    for number in range(5):
        info: dict[str, object] = {"safetensors": told} if number else {}
        scan.hub.add(f"org/m{number}", model_files(), info=info)
    scan.hub.page_size = 2
    done = scan("--author", "org", "--totals-only")
    rows = rows_of(done.out)
    assert [row["hub_reported_parameters"] for row in rows] == [None, 120, 120, 120, 120]
    assert rows[1]["hub_reported_dtypes"] == "BF16:100 F32:20"
    assert "parameters" not in rows[1]
    assert "the Hub's own report, not counted by hfinspect" in done.err
    assert scan.hub.meter.paths() == ["/api/models"] * 3
    for row in rows:
        conforms(row, "scan-row")


def test_resuming_a_list_of_the_hub_that_has_changed(scan: Scanner, tmp_path: Path) -> None:
    """Its order changes between two days: rows stay, what is new is added."""
    names = fill(scan.hub, 3)
    out = tmp_path / "out.jsonl"
    assert scan("--author", "org", "-o", out, "--no-cache").code == 0
    scan.hub.add("org/a-new-one", model_files(9))
    scan.hub.repos = dict(reversed(scan.hub.repos.items()))
    scan.hub.meter.clear()
    assert scan("--author", "org", "-o", out, "--no-cache", "--resume").code == 0
    assert [row["target"] for row in rows_in(out)] == [*names, "org/a-new-one"]
    assert not any("org/m0" in path for path in scan.hub.meter.paths())


def test_refresh_of_a_list_of_the_hub_sees_moves_in_the_pages(
    scan: Scanner, tmp_path: Path
) -> None:
    fill(scan.hub, 3)
    out = tmp_path / "out.jsonl"
    assert scan("--author", "org", "-o", out, "--no-cache").code == 0
    scan.hub.repos["org/m0002"].commit(model_files(7))
    scan.hub.meter.clear()
    assert scan("--author", "org", "-o", out, "--no-cache", "--refresh").code == 0
    assert scan.hub.meter.count("hub", "/api/") == 1
    assert {path for path in scan.hub.meter.paths() if "resolve" in path} == {
        path for path in scan.hub.meter.paths() if "m0002" in path
    }


def test_parts_of_a_list_of_the_hub(scan: Scanner) -> None:
    names = fill(scan.hub, 5)
    listed = [
        row["target"]
        for k in (1, 2)
        for row in rows_of(scan("--author", "org", "--shard", f"{k}/2").out)
    ]
    assert listed == names


class Astray(HubServer):
    """Its pages say that the next one is at ``link``."""

    link = ""

    def answer(self, request: Request) -> Reply:
        reply = super().answer(request)
        if request.path == "/api/models":
            reply.headers["Link"] = f'<{self.link}>; rel="next"'
        return reply


@pytest.mark.parametrize("elsewhere", [True, False], ids=["another host", "in circles"])
def test_pages_that_lead_astray_are_not_followed(elsewhere: bool) -> None:
    """The token would go along to another host; a page that is its own next never ends."""
    hub = Astray()
    try:
        names = fill(hub, 2)
        path = "/api/models?expand=sha&limit=1000"
        hub.link = f"{hub.cdn if elsewhere else hub.endpoint}{path}"
        client = HubClient(endpoint=hub.endpoint, token="hf_reader")
        hub.at_close.append(client.close)
        repo_ids = [model.repo_id for model in list_models(client, expand=("sha",))]
        assert repo_ids == names
        assert hub.meter.count("cdn") == 0
        assert len(hub.meter.requests) == 1
    finally:
        hub.close()


@pytest.mark.parametrize(
    "page", [b'{"models": []}', b'[{"id": "../x"}]', b"[1]", b"[" * 100_000, b"<html>"]
)
def test_a_page_that_is_none_is_an_error(page: bytes) -> None:
    class Odd(HubServer):
        def answer(self, request: Request) -> Reply:
            return Reply(200, page, {"Content-Type": "application/json"})

    hub = Odd()
    try:
        client = HubClient(
            endpoint=hub.endpoint, token=False, throttle=Throttle(sleep=lambda _seconds: None)
        )
        hub.at_close.append(client.close)
        with pytest.raises(NetworkError):
            list(list_models(client))
    finally:
        hub.close()


def test_one_odd_repo_does_not_cost_the_page(hub: HubServer) -> None:
    fill(hub, 1)
    hub.add("org/odd", {"../climbs": b""})
    client = HubClient(endpoint=hub.endpoint, token=False)
    hub.at_close.append(client.close)
    fine, odd = list_models(client, expand=("sha", "siblings"))
    assert fine.listing() is not None
    assert odd.listing() is None
