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


#: As it is in this checkout, with what is not committed.
HERE = Package("this checkout", ROOT)


def of_commit(commit: str, room: Path) -> Package:
    """The package of a commit, written into ``room`` unless it is there. Raises LookupError."""
    try:
        sha = _git("rev-parse", "--verify", "--short=10", f"{commit}^{{commit}}").decode().strip()
        tree = _git("rev-parse", f"{commit}:hfinspect").decode().strip()
    except subprocess.CalledProcessError as error:
        raise LookupError(f"{commit!r} is no commit: {error.stderr.decode().strip()}") from None
    place = room / tree
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=room, prefix=".new-") as made:
            content = _git("archive", sha, "hfinspect")
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                archive.extractall(Path(made) / "held", filter="data")
            try:
                (Path(made) / "held").rename(place)
            except OSError:
                if not place.exists():  # otherwise another process was faster
                    raise
    return Package(f"{commit} ({sha})" if commit != sha else sha, place, tree)


def fixtures_on_one_side(commit: str) -> tuple[list[str], list[str]]:
    """Files of ``fixtures`` that only the commit has, and those that only this checkout has."""
    theirs = set(_git("ls-tree", "-r", "--name-only", commit, "fixtures").decode().splitlines())
    ours = set(
        _git("ls-files", "--cached", "--others", "--exclude-standard", "fixtures")
        .decode()
        .splitlines()
    )
    ours = {name for name in ours if (ROOT / name).exists()}
    return sorted(theirs - ours), sorted(ours - theirs)


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout
