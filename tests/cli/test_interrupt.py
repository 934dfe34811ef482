"""Ctrl-C ends every command at once, whatever the connection does: 130, and one line at most."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hfinspect.cli.interrupt import hides_interrupt

from ..hub_repos import sharded_files
from ..hub_server import HubServer
from .program import ROOT

#: Seconds. By hand it is a twentieth of a second; this machine may have other things to do.
MOST = 5.0
#: How long to wait for a program that is to be interrupted.
STARTED = 30.0

pytestmark = pytest.mark.skipif(os.name == "nt", reason="SIGINT is another thing there")


def start(*arguments: str, env: Mapping[str, str], cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**env, "PYTHONPATH": str(ROOT), "HFINSPECT_CACHE": str(cwd / "cache")},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + STARTED
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.02)


def interrupted(running: subprocess.Popen[str], *, quiet: bool = True) -> None:
    begun = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert time.monotonic() - begun < MOST, (running.args, err)
    assert (running.returncode, out) == (130, ""), (running.args, err)
    assert "Traceback" not in err
    assert not quiet or err in ("", "interrupted\n"), (running.args, err)


@pytest.mark.posix
def test_each_command_in_the_midst_of_stalled_reads(hub: HubServer, tmp_path: Path) -> None:
    """Threads wait for bodies that stop; the main one waits for them."""
    commands = [
        ("inspect", "org/m0"),
        ("tensors", "org/m1"),
        ("explain", "org/m2"),
        ("audit", "org/m3"),
        ("compare", "org/m4", "org/m7"),
        ("tree", "org/m5"),
        ("scan", "list.txt"),
    ]
    for number in range(8):
        hub.add(f"org/m{number}", sharded_files(3))
    hub.has_headers_endpoint = False
    hub.fail("stall", host="cdn", after=10, seconds=60)
    hub.fail("stall", "config.json", after=1, seconds=60)
    (tmp_path / "list.txt").write_text("org/m6\norg/m7\n")
    running = [
        start("-m", "hfinspect", *command, env=hub.env(tmp_path), cwd=tmp_path)
        for command in commands
    ]
    for number in range(7):
        wait_until(lambda part=f"m{number}/resolve": hub.meter.count("hub", part) > 0)  # type: ignore[misc]
    for one in running:
        interrupted(one)


@pytest.mark.posix
@pytest.mark.parametrize("kind", ["drip", "stall", "trickle"])
def test_the_first_answer_is_slow(hub: HubServer, tmp_path: Path, kind: str) -> None:
    """The main thread itself waits for a head or a body."""
    hub.add("org/model", sharded_files(2))
    hub.fail(kind, "/api/models/", seconds=0.05 if kind != "stall" else 60)
    running = start("-m", "hfinspect", "org/model", env=hub.env(tmp_path), cwd=tmp_path)
    wait_until(lambda: hub.meter.count("hub") > 0)
    interrupted(running)


@pytest.mark.posix
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_never_speaks(hub: HubServer, tmp_path: Path, scheme: str) -> None:
    """Neither TLS nor HTTP begins."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"{scheme}://127.0.0.1:{server.getsockname()[1]}"
        env = {**hub.env(tmp_path), "HF_ENDPOINT": endpoint}
        running = start("-m", "hfinspect", "audit", "org/model", env=env, cwd=tmp_path)
        server.settimeout(STARTED)
        with server.accept()[0]:
            interrupted(running)


@pytest.mark.posix
def test_a_main_thread_that_python_cannot_interrupt(tmp_path: Path) -> None:
    """It is in a library's own loop, as while a name is looked up."""
    code = (
        "import hashlib\nfrom hfinspect.cli.interrupt import watch\nwatch()\n"
        "print('ready', flush=True)\nhashlib.pbkdf2_hmac('sha256', b'', b'', 100_000_000)"
    )
    running = start("-c", code, env=dict(os.environ), cwd=tmp_path)
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    time.sleep(0.2)  # until it is in there
    interrupted(running)


@pytest.mark.posix
def test_before_there_is_a_command(tmp_path: Path) -> None:
    """While Python still imports: no traceback either."""
    for seconds in (0.15, 0.3):
        running = start(
            "-X", "importtime", "-m", "hfinspect", "--help", env=dict(os.environ), cwd=tmp_path
        )
        assert running.stderr is not None
        while "hfinspect.cli.interrupt" not in running.stderr.readline():
            pass
        time.sleep(seconds / 10)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        assert running.returncode in (0, 130)
        assert "Traceback" not in err


#: A program whose main thread no signal wakes: the system hands it to another thread, as it may, or
#: it comes in the instant before a wait begins. Python then sees it only after the wait.
UNWOKEN = """
import signal, sys, threading
import hfinspect
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
try:
    results = hfinspect.scan(sys.argv[2:]) if sys.argv[1] == "scan" else None
    list(results) if results is not None else hfinspect.inspect(sys.argv[2])
except KeyboardInterrupt:
    print("caught")
"""


@pytest.mark.posix
def test_a_wait_that_no_signal_ends_is_short(hub: HubServer, tmp_path: Path) -> None:
    """Bodies in threads, a head in the main thread, a server that asks to wait, a scan, a server
    that never speaks: each in a process of its own."""
    for name in ("body", "head", "later", "scanned"):
        hub.add(f"org/{name}", sharded_files(6))
    hub.has_headers_endpoint = False
    hub.fail("stall", host="cdn", seconds=60)
    hub.fail("drip", "api/models/org/head", seconds=0.05)
    hub.fail("status", "api/models/org/later", headers={"retry-after": "40"})
    commands = [("inspect", name) for name in ("body", "head", "later")]
    commands.append(("scan", "scanned"))
    running = [
        start("-c", UNWOKEN, kind, f"org/{name}", env=hub.env(tmp_path), cwd=tmp_path)
        for kind, name in commands
    ]
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"https://127.0.0.1:{server.getsockname()[1]}"
        env = {**hub.env(tmp_path), "HF_ENDPOINT": endpoint}
        running.append(start("-c", UNWOKEN, "inspect", "org/silent", env=env, cwd=tmp_path))
        server.settimeout(STARTED)
        with server.accept()[0]:
            for name in ("body/resolve", "head", "later", "scanned/resolve"):
                wait_until(lambda part=name: hub.meter.count("hub", part) > 0)  # type: ignore[misc]
            time.sleep(0.2)
            for one in running:
                begun = time.monotonic()
                one.send_signal(signal.SIGINT)
                out, err = one.communicate(timeout=60)
                assert time.monotonic() - begun < MOST, (one.args, err)
                assert (out, err) == ("caught\n", ""), one.args


@pytest.mark.posix
def test_in_a_library_call_the_interrupt_comes_at_once(hub: HubServer, tmp_path: Path) -> None:
    """``inspect`` raises it in a notebook too, where nothing watches and the process goes on."""
    hub.add("org/model", sharded_files(6))
    hub.has_headers_endpoint = False
    hub.fail("stall", host="cdn", seconds=60)
    code = (
        "import hfinspect, time\n"
        "try:\n    hfinspect.inspect('org/model')\n"
        "except KeyboardInterrupt:\n    print('caught')\n"
    )
    running = start("-c", code, env=hub.env(tmp_path), cwd=tmp_path)
    wait_until(lambda: hub.meter.count("cdn") > 0)
    begun = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert time.monotonic() - begun < MOST
    assert (out, err, running.returncode) == ("caught\n", "", 0)


@pytest.mark.posix
def test_an_interrupt_that_nobody_can_catch_ends_it_without_a_traceback() -> None:
    """Python drops what is raised while an object is deleted, and says so at length."""
    code = (
        "import os, signal, time\n"
        "from hfinspect.cli.interrupt import watch\n"
        "watch()\n"
        "class Dropped:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        for _ in range(1000): time.sleep(0.01)\n"
        "Dropped()\n"
        "time.sleep(30)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_an_interrupt_inside_a_class_statement_is_one() -> None:
    class Field:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    try:
        type("Record", (), {"field": Field()})
    except KeyboardInterrupt:  # Python 3.12 and later
        return
    except RuntimeError as error:
        assert hides_interrupt(error)
    assert not hides_interrupt(RuntimeError())
