"""Proof that the samples run code: each in its real loader, in a throwaway process.

Left out by default (marker ``loaders``). The interpreter with torch, joblib, SciPy and
scikit-learn is named by HFINSPECT_LOADERS_PYTHON; without it, this one is taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .disguised import every_sample


@pytest.mark.loaders
def test_every_sample_runs_in_its_loader(tmp_path: Path) -> None:
    every = every_sample()
    manifest = []
    for number, sample in enumerate(every):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / sample.file).write_bytes(sample.data)
        manifest.append([str(number), sample.file, sample.loader])
    python = os.environ.get("HFINSPECT_LOADERS_PYTHON", sys.executable)
    script = Path(__file__).with_name("run_loaders.py")
    done = subprocess.run(
        [python, "-W", "ignore", str(script), str(tmp_path)],
        input=json.dumps(manifest),
        capture_output=True,
        text=True,
        check=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )
    ran = json.loads(done.stdout)
    missed = [f"{s.category}: {s.title}" for n, s in enumerate(every) if not ran[str(n)]]
    assert missed == []
