"""Every target on its seeds, always; under atheris for some seconds with ``pytest -m fuzz``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..cli.program import ROOT
from .targets import TARGETS, run_one, seeds

#: Seconds for each target; HFINSPECT_FUZZ_SECONDS gives another number.
SECONDS = 20


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_and_their_beginnings_raise_nothing_unknown(name: str) -> None:
    for seed in seeds():
        for data in (seed, seed[: len(seed) // 2], seed[:-1], seed[::-1]):
            run_one(name, data)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", TARGETS)
def test_under_atheris(name: str, tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    seconds = os.environ.get("HFINSPECT_FUZZ_SECONDS", str(SECONDS))
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.under_atheris", name, seconds, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=float(seconds) + 120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
