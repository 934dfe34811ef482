"""A scan of 2,000 models on a loopback Hub where one in a hundred has each kind of mishap.

    python -m tests.benchmarks.bench_scan

20 ms before each answer, ``--jobs 32``, no cache. The Hub is a process of its own, and so is each
client. What is shown and checked: that every row is there with the right error; the peak memory at
200 and at 2,000 models; and how much faster that is than one model at a time, by ourselves and by
huggingface_hub's own call for headers, side by side on 200 models without mishaps.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

from ..hub_server import running_hub
from ..scanning.mishaps import EXPECTED, mixed_hub
from ..scanning.scan_support import fill, write_list

ROOT = Path(__file__).resolve().parents[2]
LATENCY = 0.02
MANY = 2000
FEW = 200
#: 32 at once, on two cores that also serve the Hub, with the start of the program counted.
LEAST_GAIN = 4

SCAN = """
import resource, sys
from hfinspect.cli.outcome import run
code = run(sys.argv[1:])
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""
ONE_BY_ONE = """
import sys
from huggingface_hub import HfApi
api = HfApi(token=False)
for name in open(sys.argv[1]).read().split():
    header = api.get_safetensors_metadata(name)
    assert sum(header.parameter_count.values())
"""


def serve(kind: str, count: int, pipe: Connection) -> None:
    """A Hub until the other end hangs up."""
    with running_hub() as hub:
        names = mixed_hub(hub, count) if kind == "mixed" else fill(hub, count)
        hub.latency = LATENCY
        pipe.send((hub.endpoint, names, hub.env("/nonexistent/home")))
        pipe.recv()
        pipe.send(len(hub.meter.requests))


class Hub:
    """The Hub in its own process."""

    def __init__(self, kind: str, count: int) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=serve, args=(kind, count, other))
        self._process.start()
        self.endpoint, self.names, self.env = self._pipe.recv()

    def close(self) -> int:
        """Requests that it answered."""
        self._pipe.send("stop")
        requests = int(self._pipe.recv())
        self._process.join()
        return requests


def scanned(hub: Hub, folder: Path, *options: str) -> tuple[list[dict[str, object]], float, int]:
    """(rows, seconds, peak memory in MB) of ``hfinspect scan``."""
    listed = write_list(folder / "list.txt", hub.names)
    out = folder / "out.jsonl"
    command = [sys.executable, "-c", SCAN, "scan", str(listed), "--output", str(out)]
    begun = time.monotonic()
    done = subprocess.run(
        [*command, "--no-cache", "--quiet", *options],
        env=environment(hub),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.monotonic() - begun
    peak = int(done.stderr.split("peak ")[1]) // 1024
    return [json.loads(line) for line in out.read_text().splitlines()], seconds, peak


def environment(hub: Hub) -> dict[str, str]:
    return {**os.environ, **hub.env, "PYTHONPATH": str(ROOT)}


def mixed(count: int, folder: Path) -> tuple[float, int]:
    """Scan ``count`` models with mishaps; every row is checked."""
    hub = Hub("mixed", count)
    rows, seconds, peak = scanned(hub, folder, "--jobs", "32", "--timeout", "4")
    requests = hub.close()
    assert [row["target"] for row in rows] == hub.names
    for row in rows:
        expected = EXPECTED[str(row["target"]).partition("/")[0]]
        assert row["error_kind"] == expected, row
    kinds = Counter(str(row["error_kind"]) for row in rows if row["status"] != "ok")
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(
        f"{count:5,} models with mishaps: {seconds:6.1f} s, {count / seconds:5.1f}/s, "
        f"{requests:,} requests, peak {peak} MB; failed: {told}"
    )
    return seconds, peak


def side_by_side(folder: Path) -> None:
    hub = Hub("fine", FEW)
    _, at_once, _ = scanned(hub, folder, "--jobs", "32")
    _, one, _ = scanned(hub, folder, "--jobs", "1")
    begun = time.monotonic()
    command = [sys.executable, "-c", ONE_BY_ONE, str(folder / "list.txt")]
    subprocess.run(command, env=environment(hub), cwd=ROOT, check=True)
    theirs = time.monotonic() - begun
    hub.close()
    print(f"{FEW} models without mishaps, start of the program included:")
    for name, seconds in (
        ("hfinspect scan --jobs 32", at_once),
        ("hfinspect scan --jobs 1", one),
        ("huggingface_hub get_safetensors_metadata in a loop", theirs),
    ):
        print(f"{seconds:6.1f} s  {FEW / seconds:6.1f}/s  {seconds / at_once:4.1f} x  {name}")
    assert min(one, theirs) > LEAST_GAIN * at_once


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        side_by_side(folder)
        _, few = mixed(FEW, folder)
        _, many = mixed(MANY, folder)
        print(f"peak memory: {few} MB at {FEW}, {many} MB at {MANY:,}")
        assert many < few * 1.25


if __name__ == "__main__":
    main()
