"""``scan --audit``: each model is read once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from hfinspect import audit

from ..hub_repos import sharded_files
from ..hub_server import HubServer
from .scan_support import Scanner, model_files


def fill(hub: HubServer) -> tuple[str, ...]:
    """A whole model, one with a README and a tokenizer that only an audit reads, one in shards."""
    small = model_files()
    hub.add("org/small", small)
    hub.add(
        "org/told",
        {**small, "README.md": b"---\nlicense: mit\n---\n", "tokenizer.json": b"{}"},
    )
    hub.add("org/shards", {**sharded_files(3), "config.json": small["config.json"]})
    return "org/small", "org/told", "org/shards"


def asked(hub: HubServer) -> Counter[str]:
    """Requests to the Hub so far by path, and no more of them."""
    counts = Counter(hub.meter.paths("hub"))
    hub.meter.clear()
    return counts


def test_scan_with_audit_asks_what_scan_asks_and_what_audit_alone_needs(
    hub: HubServer, tmp_path: Path
) -> None:
    for name in fill(hub):
        scans = [Scanner(hub, tmp_path / f"{name}-{run}") for run in range(2)]
        for scan in scans:
            scan.home.mkdir(parents=True)
        asked(hub)
        plain = scans[0](scans[0].list_of([name]), "--format", "jsonl", "--quiet")
        of_scan = asked(hub)
        alone = audit(name, token=False, endpoint=hub.endpoint)
        of_audit = asked(hub)
        both = scans[1](scans[1].list_of([name]), "--format", "jsonl", "--quiet", "--audit")
        of_both = asked(hub)
        assert of_both == of_scan + (of_audit - of_scan), name
        row = json.loads(both.out)
        assert row["audit_errors"] == alone.counts["error"]
        assert row["audit_codes"] == " ".join(sorted({f.code for f in alone.findings}))
        assert row.items() >= json.loads(plain.out).items()
