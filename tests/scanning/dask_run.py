"""A scan on a Dask cluster of two workers, one of which is killed halfway.

    python -m tests.scanning.dask_run LIST OUTPUT

A process of its own, because a cluster leaves threads and signal handlers behind.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import hfinspect
from hfinspect.cli.app import run


def kill_halfway(output: Path, pid: int) -> None:
    """Kill a worker when a third of the rows are there."""
    early = output.with_name(f".{output.name}.early")
    while sum(len(p.read_bytes().splitlines()) for p in (output, early) if p.exists()) < 20:
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)


def main() -> int:
    from distributed import Client, LocalCluster

    listed, output = map(Path, sys.argv[1:])
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=4, dashboard_address=None, silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster) as client,
    ):
        pids = sorted(client.run(os.getpid).values())
        killer = threading.Thread(target=kill_halfway, args=(output, pids[0]), daemon=True)
        killer.start()
        address = str(cluster.scheduler_address)
        arguments = ["--dask", address, "--no-cache", "--jobs", "8", "--timeout", "5"]
        code = run(["scan", str(listed), "--output", str(output), *arguments])
        killer.join(5)
        assert not killer.is_alive(), "nobody was killed"
        names = listed.read_text().split()[:12]
        executor = client.get_executor(pure=False)
        there = [result.to_dict() for result in hfinspect.scan(names, executor=executor)]
        assert there == [result.to_dict() for result in hfinspect.scan(names)]
        assert [("error" in result) for result in there] == [False] * 10 + [True] * 2
        return code


if __name__ == "__main__":
    sys.exit(main())
