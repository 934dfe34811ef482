"""The package as a commit has it, in a folder of its own."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Package:
    """``folder`` holds ``hfinspect/``. ``key`` names its content where that never changes."""

    label: str
    folder: Path
    key: str | None = None


def checked_out(root: Path = ROOT) -> Package:
    """As it is in a checkout, with what is not committed."""
    return Package("this checkout", root)


def of_commit(commit: str, room: Path, root: Path = ROOT) -> Package:
    """The package of a commit, written into ``room`` unless it is there. Raises LookupError."""
    try:
        sha = _git(root, "rev-parse", "--verify", "--short=10", f"{commit}^{{commit}}").strip()
        tree = _git(root, "rev-parse", f"{sha}:hfinspect").strip()
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode().strip()
        raise LookupError(f"{commit!r} is no commit with the package: {why}") from None
    place = room / tree
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=room, prefix=".new-") as made:
            content = _bytes(root, "archive", sha, "hfinspect")
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                archive.extractall(Path(made) / "held", filter="data")
            try:
                (Path(made) / "held").rename(place)
            except OSError:
                if not place.exists():  # otherwise another process was faster
                    raise
    return Package(f"{commit} ({sha})" if commit != sha else sha, place, tree)


def fixtures_on_one_side(commit: str, root: Path = ROOT) -> tuple[list[str], list[str]]:
    """Files of ``fixtures`` that only the commit has, and those that only the checkout has."""
    held = _git(root, "ls-tree", "-r", "--name-only", commit, "fixtures")
    seen = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "fixtures")
    theirs = set(held.splitlines())
    ours = {name for name in seen.splitlines() if (root / name).exists()}
    return sorted(theirs - ours), sorted(ours - theirs)


def _git(root: Path, *words: str) -> str:
    return _bytes(root, *words).decode()


def _bytes(root: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True).stdout
