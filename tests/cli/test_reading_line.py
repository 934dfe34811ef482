"""How far a slow reading has come: on a terminal, after a second, and gone at the end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import hfinspect
from hfinspect.checkpoints.read import read_model
from hfinspect.core.progress import Count, joined

from .. import hub_api
from ..hub_repos import sharded_files
from ..hub_server import HubServer
from ..sources.hub_support import source
from .program import ROOT

pty = pytest.importorskip("pty")


def shown(hub: HubServer, home: Path, *arguments: str) -> tuple[str, str]:
    """Standard output, and what a terminal was sent as standard error."""
    screen, terminal = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "hfinspect", *arguments],
        env={**hub.env(home), "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    os.close(terminal)
    out, _ = running.communicate(timeout=60)
    sent = b""
    while True:
        try:
            piece = os.read(screen, 65536)
        except OSError:  # how Linux says that nobody has it open any more
            break
        if not piece:
            break
        sent += piece
    os.close(screen)
    assert running.returncode in (0, 1), sent
    return out, sent.decode()


@pytest.mark.posix
def test_headers_that_are_read(hub: HubServer, tmp_path: Path) -> None:
    hub.add("org/a", sharded_files(40))
    hub.add("org/b", sharded_files(40))
    hub.has_headers_endpoint = False
    hub.latency = 0.4
    commands = {("compare", "org/a", "org/b"): 80, ("audit", "org/a"): 40}
    with ThreadPoolExecutor() as pool:
        piped = pool.submit(
            subprocess.run,
            [sys.executable, "-m", "hfinspect", "tensors", "org/a"],
            env={**hub.env(tmp_path), "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        screens = list(pool.map(lambda command: shown(hub, tmp_path, *command), commands))
    for (out, sent), total in zip(screens, commands.values(), strict=True):
        assert out
        states = [int(done) for done in re.findall(rf"reading headers (\d+)/{total}", sent)]
        assert states
        assert states == sorted(states)
        assert "\n" not in sent  # one line, rewritten
        assert re.search(r"\r +\r$", sent)  # and removed
    done = piped.result()
    assert (done.returncode, done.stderr) == (0, b"")  # nothing of it where it is no terminal


@pytest.mark.posix
def test_a_silent_server_is_said_to_be_asked(hub: HubServer, tmp_path: Path) -> None:
    """Before anything is reported, too."""
    hub.add("org/a", {"config.json": b'{"model_type": "gpt2"}'})
    hub.latency = 1.8  # twice: on a slow machine the first answer is there before the line is
    with ThreadPoolExecutor() as pool:
        explained, tree = pool.map(
            lambda command: shown(hub, tmp_path, command, "org/a"), ("explain", "tree")
        )
    assert re.search(r"requesting from the Hub: main of org/a \([1-9] s\)", explained[1])
    assert re.search(r"requesting from the Hub: config.json of org/a \([1-9] s\)", tree[1])


def test_headers_of_the_one_answer_of_main(hub: HubServer, tmp_path: Path) -> None:
    """They are counted as they come in, however slowly."""
    hub.add("org/a", sharded_files(12))
    size = len(hub_api.shard_headers(hub.repos["org/a"], "model.safetensors.index.json").body)
    hub.fail("trickle", "safetensors-metadata", seconds=2.5 / size)
    _, sent = shown(hub, tmp_path, "inspect", "org/a")
    states = [int(done) for done in re.findall(r"reading headers (\d+)/12", sent)]
    assert len(set(states)) > 3
    assert states == sorted(states)
    assert 0 < states[0] < 12


def test_an_answer_that_is_not_used_is_not_counted(hub: HubServer) -> None:
    """Of another commit than the one listed: the shards are read one by one."""
    repo = hub.add("org/a", sharded_files(5))
    seen: list[tuple[str, int, int]] = []
    model = source(hub, "org/a")
    model.list_files()
    repo.commit(sharded_files(6))
    read_model(model, progress=partial(_note, seen))
    assert ("headers", 4, 5) in seen
    assert seen[-1] == ("headers", 5, 5)
    assert all(0 <= done <= total for _, done, total in seen)


def test_progress_is_a_callback_of_the_library(hub: HubServer) -> None:
    """Nothing is printed; the last state is the number of files."""
    hub.add("org/a", sharded_files(5))
    for has_them_ready in (True, False):
        hub.has_headers_endpoint = has_them_ready
        seen: list[tuple[str, int, int]] = []
        report = partial(_note, seen)
        hfinspect.inspect("org/a", token=False, endpoint=hub.endpoint, progress=report)
        assert seen[0] == ("headers", 0, 5)
        assert seen[-1] == ("headers", 5, 5)
        assert all(done <= total for _, done, total in seen)


def _note(seen: list[tuple[str, int, int]], what: str, done: int, total: int) -> None:
    seen.append((what, done, total))


def test_sums_of_several_readings() -> None:
    seen: list[tuple[str, int, int]] = []
    one, two = joined(partial(_note, seen), 2)
    first = Count("headers", one)
    second = Count("headers", two)
    first.expect(3)
    second.expect(4)
    first.add()
    second.counted(lambda: None)()
    assert seen == [
        ("headers", 0, 3),
        ("headers", 0, 7),
        ("headers", 1, 7),
        ("headers", 2, 7),
    ]
