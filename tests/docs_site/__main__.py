"""Builds the site: ``python -m tests.docs_site --output DIR [--pyodide DIR]``.

Needs mkdocs-material (``pip install '.[docs]'``). ``--pyodide`` is npm's package of that name,
unpacked: with it the app is part of the site. A warning of mkdocs fails the build.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .staging import stage


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.docs_site", description=__doc__)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--pyodide", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config = stage(Path(folder), given.pyodide)
        command = ["mkdocs", "build", "--strict", "-q", "-f", str(config), "-d"]
        return subprocess.run(
            [sys.executable, "-m", *command, str(given.output.resolve())],
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            check=False,
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
