"""The hook in a git repository, with the real pre-commit."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from ..cli.program import ROOT
from .built import call

pytestmark = [pytest.mark.install, pytest.mark.posix]
NAME = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


def git(folder: Path, *arguments: str | Path) -> str:
    return call("git", *arguments, cwd=folder, env=NAME)


@pytest.fixture(scope="session")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This project as a git repository with its files as they are now."""
    folder = tmp_path_factory.mktemp("hooks")
    for name in filter(None, call("git", "ls-files", "-z", cwd=ROOT).split("\0")):
        if not name.startswith(("fixtures/", "tests/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")
    return folder


def models(folder: Path) -> Path:
    """A git repository with two models, one of them with its weights in LFS."""
    folder.mkdir()
    git(folder, "init", "-q")
    shutil.copytree(ROOT / "fixtures" / "checkpoints" / "torch-sharded", folder / "sharded")
    (folder / "large").mkdir()
    shutil.copy(ROOT / "fixtures" / "models" / "gpt2" / "config.json", folder / "large")
    pointer = (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 548105171\n"
    )
    (folder / "large" / "model.safetensors").write_text(pointer)
    git(folder, "add", "-A")
    return folder


def test_sound_and_broken(hooks: Path, tmp_path: Path) -> None:
    folder = models(tmp_path / "models")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pre_commit",
        "try-repo",
        hooks,
        "hfinspect-audit",
    ]
    home = {"PRE_COMMIT_HOME": str(tmp_path / "cache"), **NAME}
    assert "Passed" in call(*command, "--all-files", cwd=folder, env=home)

    (folder / "large" / "model.safetensors").write_bytes(b"\xff" * 64)
    git(folder, "add", "-A")
    output = call(*command, "--all-files", cwd=folder, env=home, code=1)
    assert "Failed" in output and "HI1" in output and "large" in output
