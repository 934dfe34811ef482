"""A scan on the Dask cluster at an address, one worker of which is killed halfway.

    python -m tests.scanning.dask_run LIST OUTPUT ADDRESS PID

A process of its own, because a client leaves threads and signal handlers behind.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import hfinspect
from hfinspect.cli.outcome import run


def kill_halfway(output: Path, pid: int) -> None:
    """Kill a worker when a third of the rows are there."""
    early = output.with_name(f".{output.name}.early")
    while sum(len(p.read_bytes().splitlines()) for p in (output, early) if p.exists()) < 20:
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)


def main() -> int:
    from distributed import Client

    listed, output = map(Path, sys.argv[1:3])
    address = sys.argv[3]
    pid = int(sys.argv[4])
    killer = threading.Thread(target=kill_halfway, args=(output, pid), daemon=True)
    killer.start()
    arguments = ["--dask", address, "--no-cache", "--jobs", "8", "--timeout", "5"]
    code = run(["scan", str(listed), "--output", str(output), *arguments])
    killer.join(5)
    assert not killer.is_alive(), "nobody was killed"
    names = listed.read_text().split()[:12]
    with Client(address) as client:
        assert len(client.scheduler_info()["workers"]) == 1
        executor = client.get_executor(pure=False)
        there = [result.to_dict() for result in hfinspect.scan(names, executor=executor)]
    assert there == [result.to_dict() for result in hfinspect.scan(names)]
    assert [("error" in result) for result in there] == [False] * 10 + [True] * 2
    return code


if __name__ == "__main__":
    sys.exit(main())
