"""The built package, and fresh environments to install it into."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ..cli.program import ROOT


def call(
    *command: str | Path, cwd: Path, env: Mapping[str, str] | None = None, code: int = 0
) -> str:
    """What a command prints, standard error included; it must end with ``code``."""
    whole = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "PYTHON"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**whole, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=600,
    )
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}"
    return done.stdout


def scripts(environment: Path) -> Path:
    """Where an environment keeps its programs."""
    return environment / ("Scripts" if os.name == "nt" else "bin")


def environment(folder: Path, *requirements: str | Path) -> Path:
    """A new virtual environment with these."""
    call(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    if requirements:
        call(scripts(folder) / "python", "-m", "pip", "install", "-q", *requirements, cwd=folder)
    return folder


def build(folder: Path) -> tuple[Path, Path]:
    """(wheel, sdist) of a copy of what git knows, as a release has it."""
    tree = folder / "tree"
    names = call("git", "ls-files", "-z", cwd=ROOT).split("\0")
    for name in filter(None, names):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    call(sys.executable, "-m", "build", "--outdir", folder / "dist", cwd=tree)
    (wheel,) = (folder / "dist").glob("*.whl")
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def installed(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and nothing else of ours."""
    return environment(tmp_path_factory.mktemp("installed") / "venv", distributions[0])
