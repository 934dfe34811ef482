"""A scan of very many synthetic repos to a folder of parts, killed on the way and resumed.

    python -m tests.benchmarks.million 150000 --times 20     # headers of every model
    python -m tests.benchmarks.million 1000000 --totals      # the Hub's list alone
    python -m tests.benchmarks.million 8000 --dask           # on a cluster that loses a worker

The Hub (``synthetic_hub``) is a process of its own on this machine and takes a fifth of the
processors. One repo in a hundred has a mishap, quotas are the Hub's in scaled time (``--times``).
When 45% of the rows are there, the scan (or a worker of the cluster) is killed by SIGKILL; the scan
then goes on with ``--resume``. Every row is checked in the end. What is printed: rows lost, memory
of the scan at each tenth, seconds of its processors a row, requests a row.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hfinspect.scanning.dataset_manifest import read_manifest

from .synthetic_hub import AUTHOR, HubProcess, mishap, name_of

ROOT = Path(__file__).resolve().parents[2]
KILL_AT = 0.45
TOTALS = "hub_reported_parameters,hub_reported_dtypes,model_type,architecture,license,task"


class Watched:
    """A process, what it took, and how much memory it had at each tenth of the rows."""

    def __init__(self) -> None:
        self.memory: dict[int, int] = {}
        self.cpu = 0.0
        self.wall = 0.0

    def run(
        self,
        command: list[str],
        env: dict[str, str],
        out: Path,
        rows: int,
        stop: float,
        victim: int | None = None,
    ) -> int:
        """Its exit code; at the share ``stop`` of the rows it, or ``victim``, is killed."""
        begun = time.monotonic()
        process = subprocess.Popen(command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL)
        while True:
            time.sleep(0.5)
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            there = rows_there(out)
            with suppress(OSError, IndexError):
                self.memory.setdefault(10 * there // rows, resident(process.pid))
            if there >= stop * rows:
                os.kill(victim or process.pid, signal.SIGKILL)
                stop = 2.0
        process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu += usage.ru_utime + usage.ru_stime
        self.wall += time.monotonic() - begun
        return process.returncode


def resident(pid: int) -> int:
    """MB of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


def rows_there(out: Path) -> int:
    manifest = read_manifest(out / "_scan.json")
    rows = 0 if manifest is None else manifest.rows
    for journal in out.glob("*.jsonl"):
        with suppress(OSError), journal.open("rb") as stream:
            rows += sum(1 for _ in stream)
    return rows


def check(out: Path, count: int, *, totals: bool) -> Counter[str]:
    """Failures by kind. Every repo has its row, in order, with the status that it must have."""
    import pyarrow.dataset

    kinds: Counter[str] = Counter()
    number = 0
    columns = ["target", "error_kind"]
    parts = pyarrow.dataset.dataset(out, format="parquet")
    for batch in parts.to_batches(columns=columns):
        for row in batch.to_pylist():
            assert row["target"] == name_of(number), (row, number)
            expected = None if totals else mishap(number)[1]
            assert row["error_kind"] == expected, (row, expected)
            kinds[str(row["error_kind"])] += 1
            number += 1
    assert number == count, f"{count - number:,} rows lost"
    return kinds


@contextmanager
def a_cluster(folder: Path, env: dict[str, str]) -> Iterator[tuple[str, int]]:
    """Scheduler and two workers; its address and the first worker's process."""
    about = folder / "scheduler.json"

    def start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard"]
        return subprocess.Popen(
            [*command, *arguments],
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    running = [
        start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(about)
        )
    ]
    try:
        while not about.exists() or not about.read_text():
            time.sleep(0.1)
        address = f"--scheduler-file={about}"
        worker = ("dask_worker", address, "--no-nanny", "--nthreads", "8", "--host", "127.0.0.1")
        running += [start(*worker) for _ in range(2)]
        from distributed import Client

        with Client(scheduler_file=str(about)) as client:
            client.wait_for_workers(2, timeout=60)
            yield client.scheduler.address, running[1].pid
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=int)
    parser.add_argument("--totals", action="store_true")
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--times", type=float, default=6.0)
    parser.add_argument("--keep", type=Path, help="write the parts here, and leave them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        out = given.keep or Path(name) / "models"
        simulate(given, out, Path(name))


def simulate(given: argparse.Namespace, out: Path, folder: Path) -> None:
    hub = HubProcess(given.rows, given.times)
    env = {**os.environ, **hub.env, "PYTHONPATH": str(ROOT)}
    part_rows = max(100, min(1_000 if given.dask else 10_000, given.rows // 20))
    command = [
        sys.executable,
        "-m",
        "hfinspect",
        "scan",
        "--author",
        AUTHOR,
        "-o",
        f"{out}/",
        "--part-rows",
        str(part_rows),
        "--no-cache",
        "--quiet",
        "--resume",
        "--jobs",
        "24",
    ]
    if given.totals:
        command += ["--totals-only", "--columns", TOTALS]
    watched = Watched()
    if given.dask:
        with a_cluster(folder, env) as (address, victim):
            code = watched.run([*command, "--dask", address], env, out, given.rows, KILL_AT, victim)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)  # the scan and its cluster
        took = ended.ru_utime + ended.ru_stime - watched.cpu
        print(f"processors of the cluster: {1000 * took / given.rows:.2f} ms a row")
    else:
        code = watched.run(command, env, out, given.rows, KILL_AT)
        assert code == -signal.SIGKILL, code
        kept = rows_there(out)
        code = watched.run(command, env, out, given.rows, 2.0)
        print(f"killed with {kept:,} rows, resumed")
    assert code == (0 if given.totals else 1), code
    counts = hub.counts()
    hub.close()
    kinds = check(out, given.rows, totals=given.totals)
    tell(given, watched, counts, kinds, out)


def tell(
    given: argparse.Namespace,
    watched: Watched,
    counts: dict[str, float],
    kinds: Counter[str],
    out: Path,
) -> None:
    rows = given.rows
    size = sum(path.stat().st_size for path in out.glob("*.parquet"))
    print(
        f"{rows:,} rows, 0 lost, {len(list(out.glob('*.parquet')))} parts, {size / 1e6:,.1f} MB; "
        f"by kind: {dict(kinds)}"
    )
    print("memory (MB) by tenth:", " ".join(f"{10 * k}%:{v}" for k, v in watched.memory.items()))
    print(
        f"{watched.wall:,.0f} s, {rows / watched.wall:,.1f} rows/s; processors of the scan: "
        f"{watched.cpu:,.0f} s, {1000 * watched.cpu / rows:.2f} ms a row"
    )
    requests = [f"{counts.pop(kind, 0) / rows:.4f} {kind}" for kind in ("api", "resolve", "range")]
    print("requests a row:", ", ".join(requests))
    print("the Hub:", ", ".join(f"{value:,.0f} {kind}" for kind, value in counts.items()))


if __name__ == "__main__":
    main()
