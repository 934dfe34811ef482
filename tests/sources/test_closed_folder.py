"""A folder that may not be read: reported, and everything next to it is read."""

from __future__ import annotations

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


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that others may enter, unlike those of pytest."""
    path = Path(tempfile.mkdtemp(prefix="hfinspect-closed-"))
    path.chmod(0o755)
    yield path
    for closed in path.rglob("closed"):
        closed.chmod(0o700)
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
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    inspected, audited, empty = done.stdout.splitlines()
    assert inspected == "True ['the folder closed was not read: may not be read']"
    assert audited == "[('HI101', 'closed')]"
    assert empty == "unreadable closed"
