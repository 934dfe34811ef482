"""Proof that the samples run code: each in its real loader, in a throwaway process.

Left out by default (marker ``loaders``); .github/CONTRIBUTING.md says how the environments are
made. HFINSPECT_LOADERS_PYTHON names the interpreter with today's libraries; without it, this one is
taken. HFINSPECT_OLD_LIBRARIES and HFINSPECT_OLD_TRANSFORMERS are folders with libraries that still
load what later versions refuse, HFINSPECT_TENSORFLOW_PYTHON an interpreter with TensorFlow. Samples
for what is not named are left out, and the test is then skipped with their number, after all others
have run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .disguised import every_sample
from .gadgets import allowed, later

#: What some loaders need.
NEEDED = {
    "HFINSPECT_OLD_LIBRARIES": ("keras", "keras json", "peft", "onnx"),
    "HFINSPECT_OLD_TRANSFORMERS": ("kernel",),
    "HFINSPECT_TENSORFLOW_PYTHON": ("tensorflow",),
}
#: Without one of these nothing but plain pickles can be loaded.
LIBRARIES = (
    "torch",
    "numpy",
    "joblib",
    "scipy",
    "sklearn",
    "keras",
    "transformers",
    "diffusers",
    "sentence_transformers",
    "gguf",
    "jinja2",
)


def lacking(python: str) -> list[str]:
    """Libraries that an interpreter does not have."""
    code = (
        "import importlib.util as u, sys; print(*(n for n in sys.argv[1:] if not u.find_spec(n)))"
    )
    done = subprocess.run(
        [python, "-c", code, *LIBRARIES], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.loaders
def test_every_sample_runs_in_its_loader(tmp_path: Path) -> None:
    python = os.environ.get("HFINSPECT_LOADERS_PYTHON", sys.executable)
    if missing := lacking(python):
        pytest.skip(f"{python} (HFINSPECT_LOADERS_PYTHON) has no {', '.join(missing)}")
    unset = {name: loaders for name, loaders in NEEDED.items() if name not in os.environ}
    without = {loader for loaders in unset.values() for loader in loaders}
    samples = [*every_sample(), *later(), *allowed()]
    every = [sample for sample in samples if sample.loader not in without]
    manifest = []
    for number, sample in enumerate(every):
        folder = tmp_path / str(number)
        (folder / sample.file).parent.mkdir(parents=True)
        (folder / sample.file).write_bytes(sample.data)
        manifest.append([str(number), sample.file, sample.loader])
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
    if unset:
        left = len(samples) - len(every)
        pytest.skip(f"{len(every)} samples ran; {left} were left out without {', '.join(unset)}")
