"""How many requests a row takes: docs/scan.md has this table."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ..benchmarks.synthetic_hub import AUTHOR, SyntheticHub, mishap, name_of
from ..cli.program import ROOT
from ..hub_server import HubServer
from .scan_support import Scanner, fill, model_files

MODELS = 6
#: What is scanned and how -> (calls of the api, resolves, ranges of the storage host) for a list of
#: six models that comes in three pages.
COSTS = {
    ("list", "--totals-only"): (3, 0, 0),
    ("list", "--source", "config"): (3, 6, 0),
    ("list",): (3, 12, 6),
    ("names", "--totals-only"): (6, 0, 0),
    ("names", "--source", "config"): (6, 6, 0),
    ("names",): (6, 12, 6),
}


@pytest.mark.parametrize("asked", COSTS, ids=" ".join)
def test_requests_of_a_scan(hub: HubServer, tmp_path: Path, asked: tuple[str, ...]) -> None:
    names = fill(hub, MODELS)
    hub.page_size = 2
    scan = Scanner(hub, tmp_path)
    listed = ["--author", "org"] if asked[0] == "list" else [str(scan.list_of(names))]
    done = scan(*listed, *asked[1:], "--no-cache")
    assert [json.loads(line)["target"] for line in done.out.splitlines()] == names
    assert done.code == 0
    api = hub.meter.count("hub", "/api/models")
    assert (api, hub.meter.count("hub", "/resolve/"), hub.meter.count("cdn")) == COSTS[asked]
    assert len(hub.meter.requests) == sum(COSTS[asked])


def test_a_quota_holds_a_scan_back_and_costs_no_row(tmp_path: Path) -> None:
    """25 resolves in 300 seconds, in time that goes 300 times as fast: the scan waits for the next
    window as the answers' RateLimit says, and those that were sent together with the last one that
    was granted are all that is refused."""
    hub = SyntheticHub(60, times=300, quotas={"api": 10, "resolve": 25})
    try:
        begun = time.monotonic()
        done = Scanner(hub, tmp_path)("--author", AUTHOR, "--source", "config", "--jobs", "4")
        seconds = time.monotonic() - begun
        told = hub.told()
        counts = hub.requests.counts
    finally:
        hub.close()
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["target"] for row in rows] == [name_of(number) for number in range(60)]
    assert [row["error_kind"] for row in rows] == [mishap(number)[1] for number in range(60)]
    assert counts["resolve"] - told["refused"] >= 60
    assert told["refused"] <= 3 * 8
    assert seconds > 1  # the third window begins a second after the second one at the earliest


def test_the_table_of_the_documentation() -> None:
    """Requests of a row: those of its page are 1 in 1,000."""
    text = (ROOT / "docs" / "scan.md").read_text()
    for asked, (api, resolves, ranges) in COSTS.items():
        how = " ".join(("the Hub's list" if asked[0] == "list" else "names", *asked[1:]))
        calls = "1 / 1,000" if asked[0] == "list" else str(api // MODELS)
        assert f"| {how} | {calls} | {resolves // MODELS} | {ranges // MODELS} |" in text, how


def test_totals_of_names_and_their_other_columns(hub: HubServer, tmp_path: Path) -> None:
    """A list of names and the Hub's list say the same; what is not on the Hub is a failed row."""
    scan = Scanner(hub, tmp_path)
    told = {"parameters": {"BF16": 100}, "total": 100}
    info: dict[str, object] = {
        "safetensors": told,
        "tags": ["license:mit", "text-generation"],
        "pipeline_tag": "text-generation",
        "library_name": "transformers",
    }
    hub.add("org/told", model_files(), info=info)
    hub.add("org/silent", {"README.md": b""})
    columns = "hub_reported_parameters,model_type,architecture,license,gated,task,library"
    command = ["--totals-only", "--columns", columns]
    listed = scan("--author", "org", *command)
    names = ["org/told", "org/silent", "org/none", "./here"]
    (tmp_path / "here").mkdir()
    named = scan(scan.list_of(names), *command)
    assert named.out.splitlines()[:2] == listed.out.splitlines()
    rows = [json.loads(line) for line in named.out.splitlines()]
    assert rows[0] == {
        "target": "org/told",
        "status": "ok",
        "error_kind": None,
        "error": None,
        "commit": hub.repos["org/told"].sha,
        "hub_reported_parameters": 100,
        "model_type": "llama",
        "architecture": "LlamaForCausalLM",
        "license": "mit",
        "gated": "false",
        "task": "text-generation",
        "library": "transformers",
    }
    assert [row["error_kind"] for row in rows] == [None, None, "repo_not_found", "usage"]
    assert rows[1]["model_type"] is None
