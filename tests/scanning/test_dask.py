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
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..cli.program import ROOT
from ..hub_server import HubServer
from .scan_support import Scanner, fill

pytestmark = [
    pytest.mark.dask,  # a cluster takes seconds to start and to end
    pytest.mark.skipif(find_spec("distributed") is None, reason="no Dask: hfinspect[dask]"),
]


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
    listed = scan.list_of(names)
    out = tmp_path / "out.jsonl"
    here = tmp_path / "here.jsonl"
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


@pytest.mark.posix
def test_parts_survive_a_worker_and_the_scan_itself(hub: HubServer, tmp_path: Path) -> None:
    """The scan is killed when some parts are there, begins again, and loses a worker. No row is
    lost, none is there twice, and no model of a part that was finished is read again. The parts
    are, byte for byte, those of a run without a cluster."""
    scan = Scanner(hub, tmp_path)
    names = fill(hub, 1150)
    names[10:10] = ["org/none"]
    listed = scan.list_of(names)
    out = tmp_path / "out"
    here = tmp_path / "here"
    parts = ["--part-rows", "100", "--no-cache", "--jobs", "8"]
    assert scan(listed, "-o", f"{here}/", *parts).code == 1
    hub.latency = 0.02
    env = {**os.environ, **scan.env, "PYTHONPATH": str(ROOT)}
    with a_cluster(tmp_path, env) as (address, workers):
        command = (str(listed), "-o", f"{out}/", *parts, "--dask", address)
        running = scan.start(*command)
        finished = wait_for_parts(running, out, 3)
        running.kill()
        running.communicate()
        finished |= parts_in(out)
        time.sleep(1.0)  # the scheduler drops what nobody waits for
        hub.meter.clear()
        running = scan.start(*command, "--resume")
        wait_for_parts(running, out, len(finished) + 3)
        requests = len(hub.meter.requests)
        while len(hub.meter.requests) < requests + 400:  # into the middle of parts
            time.sleep(0.01)
        of_second = parts_in(out)
        at_kill = len(hub.meter.requests)
        os.kill(workers[0], signal.SIGKILL)
        _, said = running.communicate(timeout=120)
        assert running.returncode == 1, said
        assert "Traceback" not in said
    again = read_of(hub, 0)
    assert again.isdisjoint(names_of(finished, names))
    assert read_of(hub, at_kill).isdisjoint(names_of(of_second, names))
    config_reads = [path for path in hub.meter.paths() if path.endswith("config.json")]
    assert len(config_reads) > len(set(config_reads))  # the parts of the lost worker
    assert parts_in(out) == parts_in(here)
    for name in parts_in(here):
        assert (out / name).read_bytes() == (here / name).read_bytes()
    assert (out / "_scan.json").read_text() == (here / "_scan.json").read_text()
    assert not list(out.glob("_part*"))


def parts_in(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("part-*.parquet")}


def wait_for_parts(running: subprocess.Popen[str], folder: Path, count: int) -> set[str]:
    deadline = time.monotonic() + 60
    while len(parts_in(folder)) < count:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return parts_in(folder)


def names_of(parts: set[str], names: list[str]) -> set[str]:
    numbers = [int(name.removeprefix("part-").partition(".")[0]) for name in parts]
    return {name for number in numbers for name in names[number * 100 : number * 100 + 100]}


def read_of(hub: HubServer, first: int) -> set[str]:
    """Models that were requested from a request on."""
    paths = [request.path for request in hub.meter.requests[first:] if request.host == "hub"]
    return {path.removeprefix("/api/models").split("/resolve/")[0][1:] for path in paths}


@pytest.mark.parametrize("allowed", ["0", "1"])  # each costs new workers
def test_a_model_that_ends_workers_costs_its_own_row(tmp_path: Path, allowed: str) -> None:
    """A part that is lost again and again is read model by model, and what was lost with one that
    ends workers is read alone."""
    failures = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": allowed}
    env = {**os.environ, **failures, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.scanning.dask_ending", str(tmp_path / "out")]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "a part was lost (KilledWorker)" in done.stderr
    rows = json.loads(done.stdout)
    assert [row["target"] for row in rows] == [f"org/m{number}" for number in range(250)]
    assert {row["target"] for row in rows if row["status"] != "ok"} == {"org/m130"}
    assert rows[130]["error_kind"] == "lost"


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
