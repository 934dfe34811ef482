"""What a long run meets on its own machine: full disks, a second scan, too few open files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hfinspect.errors import UsageError
from hfinspect.scanning.lock import OutputLock
from hfinspect.sources.descriptors import are_used_up, at_once, limit

from ..cli.program import ROOT
from ..hub_server import HubServer
from .scan_support import Scanner, fill, model_files, rows_in, write_list

FULL = Path("/dev/full")
MODEL = str(ROOT / "fixtures" / "models" / "gpt2")

needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


@pytest.fixture
def scan(hub: HubServer, tmp_path: Path) -> Scanner:
    return Scanner(hub, tmp_path)


# ---- a full disk


#: Each command in a child of a process that has everything imported; their exit codes.
ALL = """
import json, os, sys
from hfinspect.cli.outcome import leave, run
commands = json.loads(sys.argv[1])
for warm in commands[0], commands[5]:
    run([*warm, "-o", "/dev/null"])
codes = []
for number, arguments in enumerate(commands):
    child = os.fork()
    if not child:
        os.dup2(os.open(f"err{number}", os.O_CREAT | os.O_WRONLY), 2)
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        leave(run(arguments))
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(codes))
"""


@needs_full
def test_a_full_disk_is_a_sentence_in_every_command(tmp_path: Path) -> None:
    """As standard output, and as ``--output``."""
    write_list(tmp_path / "list", [MODEL])
    commands = [
        ["inspect", MODEL],
        ["tensors", MODEL],
        ["tree", MODEL],
        ["explain", MODEL],
        ["compare", MODEL, MODEL],
        ["audit", MODEL],
        ["architectures", "gpt2"],
        ["scan", "list", "-q"],
        ["scan", "list", "-q", "-f", "csv"],
        ["scan", "list", "-q", "-f", "table"],
    ]
    to_files = [commands[0], commands[5], *commands[7:]]  # the others write as the first does
    commands += [[*command, "-o", str(FULL)] for command in to_files]
    commands += [["cache", "info"], ["--help"]]
    done = subprocess.run(
        [sys.executable, "-c", ALL, json.dumps(commands)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "HFINSPECT_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    for number, (command, code) in enumerate(zip(commands, json.loads(done.stdout), strict=True)):
        err = (tmp_path / f"err{number}").read_text()
        assert code == 3, (command, err)
        assert "cannot be written: No space left on device" in err, command
        assert "Traceback" not in err, command
        assert err.count("\n") == 2, command  # the sentence and its hint


# ---- two scans on one output


@pytest.mark.posix
def test_a_second_scan_of_one_output_is_refused(scan: Scanner, tmp_path: Path) -> None:
    """With the first one's process; the first goes on, and afterwards the way is free."""
    names = fill(scan.hub, 3)
    scan.hub.fail("stall", f"/api/models/{names[1]}", times=1, seconds=60)
    listed = scan.list_of(names)
    out = tmp_path / "out.jsonl"
    first = scan.start(listed, "-o", out, "--no-cache")
    end = time.monotonic() + 30
    while not (out.exists() and out.read_text().count("\n") == 1):
        assert time.monotonic() < end
        time.sleep(0.02)
    before = out.read_bytes()
    link = tmp_path / "same.jsonl"
    link.symlink_to(out)
    for name in (out, link):
        second = scan(listed, "-o", name, "--no-cache", "--resume")
        assert second.code == 2
        assert f"is being written by another scan (process {first.pid})" in second.err
    assert out.read_bytes() == before
    first.send_signal(signal.SIGKILL)  # which leaves its lock behind
    first.communicate()
    assert (tmp_path / ".out.jsonl.pid").read_text() == str(first.pid)
    scan.hub.faults.clear()
    assert scan(listed, "-o", out, "--no-cache", "--resume").code == 0
    assert [row["target"] for row in rows_in(out)] == names
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_lock_is_given_back(tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    with OutputLock(out):
        with pytest.raises(UsageError, match=f"process {os.getpid()}"), OutputLock(out):
            pass
        with OutputLock(tmp_path / "other.csv"):
            pass
    (tmp_path / ".rows.csv.lock").touch()  # of somebody who is gone
    (tmp_path / ".rows.csv.pid").write_text("99999999")
    with OutputLock(out):
        assert (tmp_path / ".rows.csv.pid").read_text() == str(os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_made(scan: Scanner, tmp_path: Path) -> None:
    done = scan(scan.list_of(fill(scan.hub, 1)), "-o", tmp_path / "nowhere" / "out.jsonl")
    assert done.code == 3
    assert "cannot be written: No such file or directory" in done.err


# ---- too few open files


@pytest.mark.posix
@pytest.mark.skipif(os.name == "nt", reason="there is no such limit")
@pytest.mark.parametrize("files", [24, 40])
def test_few_open_files_lose_no_row(scan: Scanner, tmp_path: Path, files: int) -> None:
    names = fill(scan.hub, 40)
    listed = scan.list_of(names)
    out = tmp_path / "out.jsonl"
    scan.hub.latency = 0.01
    command = [sys.executable, "-m", "hfinspect", "scan", str(listed), "-o", str(out), "-j", "16"]
    done = subprocess.run(
        ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command],
        env={**os.environ, **scan.env, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert [(row["target"], row["status"]) for row in rows_in(out)] == [
        (name, "ok") for name in names
    ]
    said = re.search(rf"only {files} files may be open \(ulimit -n\): (\d+) at once", done.stderr)
    assert said is not None
    assert 1 <= int(said[1]) < 16


@pytest.mark.posix
@pytest.mark.skipif(os.name == "nt", reason="there is no such limit")
def test_where_others_use_up_the_files_they_are_waited_for(hub: HubServer, tmp_path: Path) -> None:
    """A program that has all its files open but for a moment: the request is sent again."""
    hub.add("org/model", model_files())
    code = (
        "import os, resource, threading, time, hfinspect\n"
        "from hfinspect.sources.descriptors import limit\n"
        "try:\n    hfinspect.inspect('org/none', timeout=5)\n"  # everything is imported
        "except hfinspect.errors.HfinspectError:\n    pass\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "taken = []\n"
        "try:\n    while True:\n        taken.append(os.dup(0))\n"
        "except OSError:\n    pass\n"
        "threading.Timer(0.5, lambda: [os.close(one) for one in taken]).start()\n"
        "print(hfinspect.inspect('org/model', timeout=20).parameters)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **hub.env(tmp_path)},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_what_fits_into_the_limit() -> None:
    most = limit()
    assert at_once(1) == 1
    assert most is None or at_once(10 * most) < most
    used_up = OSError(24, "Too many open files")
    try:
        try:
            raise used_up
        except OSError as error:
            raise RuntimeError("no connection") from error
    except RuntimeError as error:
        assert are_used_up(error)
    assert not are_used_up(OSError(2, "no such file"))
