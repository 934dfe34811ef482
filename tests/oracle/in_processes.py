"""Run models one after the other, in processes that end before they are large.

Memory returns to the system with each process, and a model that its process dies of costs its own
outcome alone. What is done is written down at once: work that was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import resource
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

#: A process that once held more MiB makes room for a new one; torch and transformers take 450.
LARGE = 1500


@dataclass
class Outcome:
    """What came of one piece of work: how many recordings are equal, what differs, what of it was
    recorded anew, and what a person has to do."""

    equal: int = 0
    changed: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Nothing is left to do."""
        return not self.by_hand and (bool(self.taken) or not self.changed)

    def __str__(self) -> str:
        counts = {"differ": self.changed, "by hand": self.by_hand}
        parts = [f"{len(lines)} {name}" for name, lines in counts.items() if lines]
        return ", ".join([f"{self.equal} equal", *parts])


@cache
def prepare() -> None:
    """Torch and transformers as recordings have them."""
    import torch
    import transformers

    from .without_kernels import import_torchvision

    import_torchvision()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)


class Worker:
    """One process at a time, which calls ``outcome(name, **options)`` of a module here."""

    def __init__(self, module: str, options: Mapping[str, Any]) -> None:
        self.module = module
        self.options = dict(options)
        self.pool: ProcessPoolExecutor | None = None

    def __call__(self, name: str) -> tuple[Outcome, str]:
        """The outcome, and what it took. A process that dies is tried once more, in a new one:
        it may have held what came before."""
        for _ in range(2):
            self.pool = self.pool or ProcessPoolExecutor(1, get_context("spawn"))
            try:
                outcome, seconds, most = self.pool.submit(
                    _measured, self.module, self.options, name
                ).result()
            except BrokenProcessPool:
                self.end()
                continue
            if most > LARGE:
                self.end()
            return outcome, f"{seconds:.1f} s, {most:,} MiB"
        return Outcome(by_hand=["its process died, of too little memory?"]), "twice"

    def end(self) -> None:
        if self.pool is not None:
            self.pool.shutdown()
        self.pool = None


def _measured(module: str, options: dict[str, Any], name: str) -> tuple[Outcome, float, int]:
    """With seconds of processor time, and the most MiB that the process held so far."""
    started = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):  # recorders print rows as they go
        work = importlib.import_module(f".{module}", __package__)
        try:
            outcome = work.outcome(name, **options)
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            outcome = Outcome(by_hand=[why[:200]])
    return outcome, time.process_time() - started, _most_mib()


def _most_mib() -> int:
    """The most that this process held. On Linux ``ru_maxrss`` begins with that of the process
    which started it."""
    status = Path("/proc/self/status")
    if status.exists():
        held = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(held.split()[1]) >> 10
    return mib(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def mib(size: int) -> int:
    """Of what the system says that a process held: in bytes on macOS, in KiB elsewhere."""
    return size >> (20 if sys.platform == "darwin" else 10)


def work_through(
    names: Sequence[str], module: str, done: Path, **options: Any
) -> Iterator[tuple[str, Outcome]]:
    """The outcome of each. The file ``done`` has those that hold; they are not worked on again."""
    before = read(done)
    left = [name for name in names if name not in before]
    if len(left) < len(names):
        print(f"{done}: {len(names) - len(left)} of {len(names)} are done", file=sys.stderr)
    yield from ((name, before[name]) for name in names if name in before)
    worker = Worker(module, options)
    try:
        for number, name in enumerate(left, 1):
            outcome, took = worker(name)
            print(f"{number} of {len(left)}, {name}: {outcome} ({took})", file=sys.stderr)
            if outcome.holds:
                with done.open("a") as file:
                    file.write(json.dumps({name: asdict(outcome)}) + "\n")
            yield name, outcome
    finally:
        worker.end()


def read(done: Path) -> dict[str, Outcome]:
    """What a file says is done; a line that was cut off is not."""
    rows: dict[str, Any] = {}
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError), done.open() as lines:
        for line in lines:
            rows |= json.loads(line)
    return {name: Outcome(**row) for name, row in rows.items()}
