"""Where no thread can start (a container at its limit, WebAssembly), all goes on in order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from hfinspect.sources import threads
from hfinspect.sources.pool import run_all

from ..cli.program import ROOT

NOBODY = 65534
#: Does what several threads do, then as a user who may have no further thread. The first
#: time imports what nobody may read where the interpreter is in somebody's home.
CODE = """
import os, resource, sys, threading
import hfinspect
from hfinspect.sources import threads
os.chdir({folder!r})

def work():
    {code}

work()
threads._idle.clear()
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.setgroups([]), os.setgid({nobody}), os.setuid({nobody})
try:
    threading.Thread(target=int).start()
except RuntimeError:
    work()
else:
    sys.exit("a thread started")
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize(
    "code",
    [
        "assert hfinspect.compare('a', 'b').same_structure is False",
        "assert hfinspect.audit('a').findings is not None",
        "assert hfinspect.memory('a').main is not None",
        (
            "rows = list(hfinspect.scan(['a', 'b'])); "
            "assert [row.parameters > 0 for row in rows] == [True, True], rows"
        ),
    ],
)
def test_each_verb_at_the_limit(code: str, tmp_path: Path) -> None:
    for name, model in (("a", "gpt2"), ("b", "llama-3-8b")):
        copytree(ROOT / "fixtures" / "models" / model, tmp_path / name)
    tmp_path.chmod(0o755)
    for folder in list(tmp_path.parents)[:3]:
        folder.chmod(folder.stat().st_mode | 0o055)
    whole = CODE.format(nobody=NOBODY, folder=str(tmp_path), code=code)
    done = subprocess.run(
        [sys.executable, "-c", whole],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr


def test_tasks_run_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "started", lambda _: False)
    seen: list[int] = []

    def task(number: int) -> int:
        seen.append(number)
        return number * number

    made = [lambda n=n: task(n) for n in range(5)]
    assert run_all(made, 4) == [0, 1, 4, 9, 16]
    assert seen == [0, 1, 2, 3, 4]
