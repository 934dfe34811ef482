"""A folder that may not be read: reported, and everything next to it is read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..auditing.sound import made, write
from ..cli.program import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "setuid"), reason="permissions are another thing")

#: Root may read everything, so what is tried is tried as nobody, once all is imported.
AS_NOBODY = """
import os, sys
import hfinspect
from hfinspect.errors import HfinspectError
good, closed, empty = sys.argv[1:]
hfinspect.inspect(good), hfinspect.audit(good)
if os.geteuid() == 0:
    os.setuid(65534)
found = hfinspect.inspect(closed)
print(found.parameters == hfinspect.inspect(good).parameters, [f.text for f in found.findings])
audited = hfinspect.audit(closed)
print([(f.code, f.file) for f in audited.findings if f.code == "HI101"])
try:
    hfinspect.inspect(empty)
except HfinspectError as error:
    print(error.kind, error.where)
"""


#: What commands say of places that are closed in one way or another, in a process of nobody: all
#: that Python may still import then was imported before.
COMMANDS = """
import concurrent.futures.thread, contextlib, importlib, io, json, os, pkgutil, sys, traceback
import hfinspect
for module in pkgutil.walk_packages(hfinspect.__path__, "hfinspect."):
    if "__main__" not in module.name and ".traced." not in module.name:
        importlib.import_module(module.name)
import filelock
from hfinspect.cli.outcome import run

def said(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(arguments)
        except BaseException:
            code = traceback.format_exc()
    return code, out.getvalue() + err.getvalue()

good, cases = json.load(sys.stdin)
for first in (["inspect", good], ["audit", good], ["explain", good], ["compare", good, good],
              ["tree", good], ["tensors", good], ["memory", good], ["scan", "--recursive", good]):
    said(first)
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
print(json.dumps([said(case) for case in cases]))
"""

CLOSED = "may not be read"
#: Arguments, exit code, what is said.
CASES = [
    *[
        (f"{command} closed", 3, CLOSED)
        for command in "inspect,audit,explain,tree,tensors,memory,tokenizer,compare good".split(",")
    ],
    ("inspect parent/model", 3, CLOSED),
    ("inspect parent/model/model.safetensors", 3, CLOSED),
    ("inspect names-only", 3, "may not be read (model.safetensors)"),
    ("audit names-only", 1, "HI101  model.safetensors: may not be read"),
    ("inspect no-names", 3, CLOSED),
    ("inspect no-names/model.safetensors", 0, "10.4 K parameters"),
    ("audit file", 1, "HI101  model.safetensors: may not be read"),
    ("inspect config", 0, "may not be read (config.json)"),
    ("explain config", 3, "has no config.json that can be used"),
    ("audit config", 1, "HI101  config.json: may not be read"),
    ("audit .", 1, "HI101  closed: the directory may not be read"),
    ("scan list.txt", 1, "1 failed"),
    ("scan --recursive .", 1, "failed: ./closed: may not be read"),
    ("scan --recursive parent/model", 3, "cannot be read"),
    ("scan closed/list.txt", 3, "cannot be read: Permission denied"),
    ("scan list.txt -o closed/rows.jsonl", 3, "cannot be written: Permission denied"),
    ("inspect good -f json -o closed/x.json", 3, "cannot be written: Permission denied"),
    ("audit good --baseline closed/b.json", 2, "cannot be read: Permission denied"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that others may enter, unlike those of pytest."""
    path = Path(tempfile.mkdtemp(prefix="hfinspect-closed-"))
    path.chmod(0o755)
    yield path
    for closed in ("closed", "parent", "names-only", "no-names", "part/closed", "empty/closed"):
        if (path / closed).exists():
            (path / closed).chmod(0o700)
    shutil.rmtree(path)


@pytest.mark.posix
def test_a_closed_folder_is_reported_and_the_rest_read(folder: Path) -> None:
    for name in ("good", "part", "empty"):
        (folder / name).mkdir()
    for name in ("good", "part"):
        write(made("single"), folder / name)
    for name in ("part", "empty"):
        (folder / name / "closed").mkdir()
        (folder / name / "closed" / "model.safetensors").write_bytes(b"secret")
        (folder / name / "closed").chmod(0)
    places = [str(folder / name) for name in ("good", "part", "empty")]
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *places],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    inspected, audited, empty = done.stdout.splitlines()
    assert inspected == "True ['the folder closed was not read: may not be read']"
    assert audited == "[('HI101', 'closed')]"
    assert empty == "unreadable closed"


@pytest.mark.posix
def test_no_command_ends_in_a_traceback(folder: Path) -> None:
    """Closed folders, those whose names may be read and nothing else, or the other way round, a
    closed folder above, a closed file; as target, list, output and baseline."""
    names = ("good", "closed", "names-only", "no-names", "parent/model", "file", "config")
    for name in names:
        (folder / name).mkdir(parents=True)
        write(made("single"), folder / name)
    (folder / "list.txt").write_text("good\nclosed\n")
    modes = {"closed": 0, "names-only": 0o644, "no-names": 0o711, "parent": 0}
    for name, mode in {**modes, "file/model.safetensors": 0, "config/config.json": 0}.items():
        (folder / name).chmod(mode)
    cases = [arguments.split() for arguments, _, _ in CASES]
    cache = {"HFINSPECT_CACHE": str(folder / "closed"), "HF_HOME": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        input=json.dumps(["good", cases]),
        env={**os.environ, **cache, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for (arguments, code, text), (exit_code, screen) in zip(
        CASES, json.loads(done.stdout), strict=True
    ):
        assert (exit_code, text in screen) == (code, True), (arguments, exit_code, screen)
