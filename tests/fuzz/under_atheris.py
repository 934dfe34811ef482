"""Runs one target under atheris.

    python -m tests.fuzz.under_atheris NAME SECONDS FOLDER

The seeds are written to FOLDER, and so is an input that shows a bug.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["hfinspect"]):
    from .targets import run_one, seeds


def main() -> None:
    name, seconds, folder = sys.argv[1:]
    for number, data in enumerate(seeds()):
        (Path(folder) / f"seed{number}").write_bytes(data)
    options = [f"-max_total_time={seconds}", "-max_len=65536", "-rss_limit_mb=2048", "-timeout=20"]
    arguments = [sys.argv[0], *options, f"-artifact_prefix={folder}/", folder]
    atheris.Setup(arguments, lambda data: run_one(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
