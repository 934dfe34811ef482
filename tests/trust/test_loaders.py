"""Proof that the samples run code: each in its real loader, in a throwaway process.

Left out by default (marker ``loaders``). HFINSPECT_LOADERS_PYTHON names the interpreter with torch,
joblib, SciPy, scikit-learn, Keras, transformers, diffusers, sentence-transformers, gguf and Jinja;
without it, this one is taken. HFINSPECT_OLD_LIBRARIES is a folder that was made by

    pip install --no-deps --target FOLDER keras==3.7.0 peft==0.13.2 onnxruntime==1.20.1

and HFINSPECT_TENSORFLOW_PYTHON an interpreter with TensorFlow; samples for what is not named are
left out.
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
    "HFINSPECT_OLD_LIBRARIES": ("keras", "peft", "onnx"),
    "HFINSPECT_TENSORFLOW_PYTHON": ("tensorflow",),
}


@pytest.mark.loaders
def test_every_sample_runs_in_its_loader(tmp_path: Path) -> None:
    every = [*every_sample(), *later(), *allowed()]
    missing = {
        loader
        for variable, loaders in NEEDED.items()
        for loader in loaders
        if variable not in os.environ
    }
    every = [sample for sample in every if sample.loader not in missing]
    manifest = []
    for number, sample in enumerate(every):
        folder = tmp_path / str(number)
        (folder / sample.file).parent.mkdir(parents=True)
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
