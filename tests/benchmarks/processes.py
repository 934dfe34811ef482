"""Whole processes, timed, and the Hub that they talk to, in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from ..hub_server import HubServer, running_hub

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Run:
    """One process: seconds on the clock and of CPU, its greatest memory in bytes, and what the Hub
    was asked meanwhile: requests, and bytes of bodies."""

    wall: float
    cpu: float
    memory: int
    requests: int = 0
    sent: int = 0


@dataclass
class Runs:
    """Runs of one command."""

    runs: list[Run] = field(default_factory=list)

    def middle(self, name: str) -> float:
        return float(median(getattr(run, name) for run in self.runs))


def timed(command: Sequence[str], env: Mapping[str, str], hub: Hub | None) -> Run:
    """Run it to its end. Raises CalledProcessError where it fails."""
    if hub is not None:
        hub.tell("clear")
    with tempfile.TemporaryFile() as output:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, env=dict(env), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            text = output.read()[-2000:].decode(errors="replace")
            raise subprocess.CalledProcessError(process.returncode, command, text, text)
    requests, sent = hub.tell("meter") if hub is not None else (0, 0)
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, requests, sent)


class Hub:
    """A Hub on loopback that answers, and so does its storage host, after ``latency`` seconds."""

    def __init__(self, fill: Callable[[HubServer], None], latency: float) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(fill, latency, other), daemon=True)
        self._process.start()
        self.env: dict[str, str]
        self.commits: dict[str, str]
        self.env, self.commits = self._pipe.recv()

    def tell(self, what: str) -> Any:
        """``clear`` and ``meter`` are its meter's; ``ranges`` and ``ready`` switch off and on the
        endpoint that has all headers ready."""
        self._pipe.send(what)
        return self._pipe.recv()

    def close(self) -> None:
        self._pipe.send("stop")
        self._process.join()


def _serve(fill: Callable[[HubServer], None], latency: float, pipe: Connection) -> None:
    with running_hub() as hub:
        fill(hub)
        hub.latency = latency
        pipe.send((hub.env("/nonexistent/home"), {name: r.sha for name, r in hub.repos.items()}))
        while (what := pipe.recv()) != "stop":
            answer: object = None
            if what == "clear":
                hub.meter.clear()
            elif what == "meter":
                answer = len(hub.meter.requests), hub.meter.sent()
            else:
                hub.has_headers_endpoint = what == "ready"
            pipe.send(answer)
