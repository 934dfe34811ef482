"""CPU time of 32 range requests in flight: our pipelines, huggingface_hub's own session.

    python -m tests.benchmarks.bench_pipelines

The head of each of 163 files, by the redirect to the storage host and the range there, from a Hub
in a process of its own that answers after 50 ms. The rounds alternate, best of twelve each.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Any
from urllib.parse import urljoin

from hfinspect.sources.deadline import Deadline
from hfinspect.sources.hub.wire.http import IN_FLIGHT, Times
from hfinspect.sources.hub.wire.pipelining import SessionPool

from ..hub_repos import sharded_files
from ..hub_server import running_hub

SHARDS = 163
LATENCY = 0.05
ROUNDS = 12
HEADERS = {"range": "bytes=0-999", "accept-encoding": "identity"}

#: Sends a GET request; the answer with its body unread.
Send = Callable[[str], AbstractContextManager[Any]]


def read_all(on_hub: Send, elsewhere: Send, urls: list[str]) -> None:
    def read(url: str) -> bytes:
        with on_hub(url) as answer:
            where = answer.extensions.get("location") or answer.headers["location"]
            answer.read()
        with elsewhere(urljoin(url, where)) as answer:
            return bytes(answer.read())

    with ThreadPoolExecutor(2 * IN_FLIGHT) as pool:
        assert all(len(head) > 8 for head in pool.map(read, urls))


def measured(run: Callable[[], None]) -> tuple[float, float]:
    wall = time.perf_counter()
    cpu = time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def serve() -> None:
    with running_hub() as hub:
        hub.latency = LATENCY
        hub.add("org/sharded", sharded_files(SHARDS))
        print(hub.endpoint, flush=True)
        sys.stdin.read()


def main() -> None:
    from huggingface_hub import get_session

    session = get_session()
    plain: Send = partial(session.stream, "GET", headers=HEADERS, follow_redirects=False)
    on_hub = SessionPool()
    elsewhere = SessionPool()
    times = Times(10.0, 30.0, Deadline())
    ours: list[Send] = [
        partial(pipeline.sent, headers=HEADERS, times=times) for pipeline in (on_hub, elsewhere)
    ]
    command = [sys.executable, "-m", __spec__.name, "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as hub:
        assert hub.stdout is not None
        names = [name for name in sharded_files(SHARDS) if name.endswith(".safetensors")]
        base = f"{hub.stdout.readline().strip()}/org/sharded/resolve/main/"
        urls = [base + name for name in names]
        candidates = {
            "huggingface_hub's session": partial(read_all, plain, plain, urls),
            "two pipelines": partial(read_all, ours[0], ours[1], urls),
        }
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
        for _ in range(ROUNDS):
            for name, run in candidates.items():
                seconds[name].append(measured(run))
        on_hub.close()
        elsewhere.close()
        hub.terminate()
    for name, rounds in seconds.items():
        wall, cpu = (min(column) for column in zip(*rounds, strict=True))
        print(f"{name:30} {wall:.2f} s, {cpu:.2f} s of CPU")


if __name__ == "__main__":
    serve() if sys.argv[1:] else main()
