"""Beyond one machine: the same scan on a real Dask cluster (``pytest -m dask``)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..cli.program import ROOT
from ..hub_server import HubServer
from .scan_support import Scanner, fill

pytest.importorskip("distributed")

pytestmark = pytest.mark.dask  # a cluster takes seconds to start and to end


@contextmanager
def a_cluster(folder: Path, env: Mapping[str, str]) -> Iterator[tuple[str, list[int]]]:
    """A scheduler and two workers as processes of their own, as on machines of their own: the
    scheduler's address and the workers' process ids."""
    running: list[subprocess.Popen[bytes]] = []
    about = folder / "scheduler.json"

    def start(module: str, *arguments: str) -> None:
        with (folder / f"{module}{len(running)}.log").open("wb") as log:
            command = [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard"]
            running.append(
                subprocess.Popen(
                    [*command, *arguments], env=env, cwd=folder, stdout=log, stderr=log
                )
            )

    try:
        start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(about)
        )
        deadline = time.monotonic() + 30
        while not about.exists() or not about.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address = json.loads(about.read_text())["address"]
        for _ in range(2):
            start("dask_worker", address, "--no-nanny", "--nthreads", "4", "--host", "127.0.0.1")
        while sum("Registered to" in log.read_text() for log in folder.glob("dask_w*.log")) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield address, [worker.pid for worker in running[1:]]
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


def test_a_worker_killed_halfway_makes_no_difference(hub: HubServer, tmp_path: Path) -> None:
    """Two workers, one killed when a third is done: no row is lost, their order is kept, and the
    file equals that of a local run. So do the results of ``hfinspect.scan`` with the cluster's
    executor (see ``dask_run``)."""
    scan = Scanner(hub, tmp_path)
    names = fill(hub, 60)
    names[10:10] = ["org/none", "gated/one"]
    hub.add("gated/one", dict(hub.repos["org/m0001"].files(hub.repos["org/m0001"].sha)), gated=True)
    listed, out, here = scan.list_of(names), tmp_path / "out.jsonl", tmp_path / "here.jsonl"
    assert scan(listed, "-o", here, "--no-cache").code == 1
    hub.latency = 0.02
    env = {**os.environ, **scan.env, "PYTHONPATH": str(ROOT)}
    with a_cluster(tmp_path, env) as (address, workers):
        killed = str(workers[0])
        done = subprocess.run(
            [sys.executable, "-m", "tests.scanning.dask_run", listed, out, address, killed],
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=100,
        )
    assert done.returncode == 1, done.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["target"] for row in rows] == names
    assert out.read_bytes() == here.read_bytes()


def test_a_local_cluster_is_an_option(hub: HubServer, tmp_path: Path) -> None:
    scan = Scanner(hub, tmp_path)
    listed = scan.list_of(fill(hub, 5))
    assert scan.process(listed, "--dask", "local", "--quiet").out == scan(listed).out


def test_no_scheduler_is_an_error(hub: HubServer, tmp_path: Path) -> None:
    scan = Scanner(hub, tmp_path)
    done = scan.process(scan.list_of(["org/a"]), "--dask", "tcp://127.0.0.1:9", "--quiet")
    assert done.code == 2
    assert "no scheduler at tcp://127.0.0.1:9" in done.err


@pytest.mark.posix
def test_ctrl_c_does_not_wait_for_stalled_workers(hub: HubServer, tmp_path: Path) -> None:
    scan = Scanner(hub, tmp_path)
    out = tmp_path / "out.jsonl"
    hub.fail("stall", "/api/models/org/m0003", seconds=60)
    running = scan.start(scan.list_of(fill(hub, 6)), "--dask", "local", "-o", out)
    early = tmp_path / ".out.jsonl.early"
    deadline = time.monotonic() + 30
    while not early.exists() or early.read_text().count("\n") < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    begun = time.monotonic()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=10)
    assert time.monotonic() - begun < 2
    assert (running.returncode, "Traceback" in err) == (130, False)
