"""What the operating system knows of local files, other than their bytes; for audits.

Modes, where links lead, holes, what an interrupted download left in hidden folders, and what else
the listing leaves out. Reads nothing of the files' content and changes nothing.
"""

import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from .source import DiskSource, Source

#: A file with more holes than this is sparse enough to say so.
MAX_HOLES = 1_000

#: Leftovers that are listed from hidden folders.
MAX_LEFTOVERS = 1_000

#: Where `hf download --local-dir` keeps what it has not finished.
_DOWNLOADS = Path(".cache") / "huggingface" / "download"

#: What it writes into each folder of ``.cache/huggingface``; anything else is someone else's.
_NOTES = {
    "": re.compile(r"CACHEDIR\.TAG|\.gitignore"),
    "download": re.compile(r".*\.(metadata|lock|incomplete)"),
    "upload": re.compile(r".*\.(metadata|lock)"),
    "trees": re.compile(r"[0-9a-f]{40}\.json(\.lock)?"),
}

#: Folders of such notes that are walked through: there is one for each folder of the repo.
MAX_NOTE_FOLDERS = 10_000


class DiskFact(NamedTuple):
    """``link`` is where a symbolic link points, ``outside`` whether that is beyond the root and
    beyond the Hub's cache; ``holes`` are half-open byte ranges that were never written."""

    path: str
    mode: int
    size: int
    link: str | None = None
    outside: bool = False
    holes: tuple[tuple[int, int], ...] = ()

    @property
    def world_writable(self) -> bool:
        """Never known on Windows, whose modes say only whether a file may be written at all."""
        return sys.platform != "win32" and bool(self.mode & stat.S_IWOTH)


def disk_facts(source: DiskSource, weights: Iterable[str]) -> Mapping[str, DiskFact]:
    """Facts of every listed file, holes only of ``weights``. Files that are gone are left out."""
    root = os.path.realpath(source.root)
    weight_paths = set(weights)
    facts = {}
    for path in source.list_files():
        fact = _fact(source.root / path, path, root, path in weight_paths)
        if fact is not None:
            facts[path] = fact
    return facts


def directory_mode(source: DiskSource) -> int:
    """Permission bits of the root; 0 if they cannot be had, as on Windows."""
    if sys.platform == "win32":
        return 0
    try:
        return source.root.stat().st_mode
    except OSError:
        return 0


def _fact(full: Path, path: str, root: str, with_holes: bool) -> DiskFact | None:
    try:
        status = full.lstat()
        link = str(full.readlink()) if stat.S_ISLNK(status.st_mode) else None
        outside = link is not None and _leads_out(full, root)
        if link is not None:
            try:
                status = full.stat()
            except OSError:
                return DiskFact(path, 0, 0, link, outside)
        holes = _holes(full, status.st_size) if with_holes and stat.S_ISREG(status.st_mode) else ()
        return DiskFact(path, status.st_mode, status.st_size, link, outside, holes)
    except (OSError, ValueError):
        return None


def _leads_out(full: Path, root: str) -> bool:
    real = os.path.realpath(full)
    if real == root or real.startswith(root.rstrip(os.sep) + os.sep):
        return False
    # The Hub's cache: models--org--name/snapshots/<commit>/file -> ../../blobs/<hash>
    snapshot = Path(root)
    for folder in (snapshot, *snapshot.parents):
        if folder.parent.name == "snapshots":
            blobs = folder.parent.parent / "blobs"
            return not real.startswith(str(blobs) + os.sep)
    return True


def _holes(full: Path, size: int) -> tuple[tuple[int, int], ...]:
    """Ranges without data, as the file system reports them; none where it does not."""
    if sys.platform == "win32":  # which has no call for it
        return ()
    if not hasattr(os, "SEEK_HOLE") or not size:
        return ()
    holes: list[tuple[int, int]] = []
    try:
        with full.open("rb", buffering=0) as file:
            at = 0
            while at < size and len(holes) < MAX_HOLES:
                start = os.lseek(file.fileno(), at, os.SEEK_HOLE)
                if start >= size:
                    break
                try:
                    at = os.lseek(file.fileno(), start, os.SEEK_DATA)
                except OSError:  # no data after the hole
                    at = size
                holes.append((start, at))
    except OSError:
        return ()
    return tuple(holes)


def leftovers(source: DiskSource) -> list[str]:
    """Paths of unfinished downloads that belong to the directory but are not in its listing: those
    of ``hf download --local-dir``, and those among the blobs of a cache's snapshot."""
    root = Path(os.path.realpath(source.root))
    places = [root / _DOWNLOADS]
    if root.parent.name == "snapshots":
        places.append(root.parent.parent / "blobs")
    paths: list[str] = []
    for place in places:
        for directory, _, names in os.walk(place, onerror=None):
            for name in sorted(names):
                if name.endswith(".incomplete") and len(paths) < MAX_LEFTOVERS:
                    paths.append(os.path.relpath(Path(directory) / name, root))
    return paths


def passed_over(source: Source) -> Mapping[str, list[str]]:
    """What lies below a directory and is not in its listing: why -> paths, in order.

    Not among them is what ``hf download --local-dir`` keeps in ``.cache/huggingface``, which
    ``leftovers`` and ``recorded_hashes`` know. Empty for a file and for what the Hub lists.
    """
    disk = source.on_disk
    by_reason: dict[str, list[str]] = {}
    for path, why in source.passed_over.items():
        paths = [path]
        if path == ".cache" and disk is not None:
            paths = _strangers(disk.root)
        by_reason.setdefault(why, []).extend(paths)
    return {why: sorted(paths) for why, paths in by_reason.items() if paths}


def _strangers(root: Path) -> list[str]:
    """What the Hub's client does not put into ``.cache``, at most MAX_LEFTOVERS of it."""
    paths: list[str] = []
    cache = root / ".cache"
    if cache.is_symlink():
        return [".cache"]
    walk = os.walk(cache, onerror=lambda error: paths.append(_below(error.filename, root)))
    for number, (directory, folders, names) in enumerate(walk):
        parts = Path(directory).relative_to(cache).parts
        kind = parts[1] if len(parts) > 1 else ""
        expected = {0: {"huggingface"}, 1: _NOTES.keys()}.get(len(parts), set(folders))
        strange = [n for n in names if not parts or not _NOTES[kind].fullmatch(n)]
        strange += [f for f in folders if f not in expected or (Path(directory) / f).is_symlink()]
        paths += [_below(Path(directory) / name, root) for name in sorted(strange)]
        folders[:] = sorted(set(folders) - set(strange))
        if len(paths) > MAX_LEFTOVERS or number > MAX_NOTE_FOLDERS:
            return [*paths[:MAX_LEFTOVERS], ".cache"]
    return paths


def _below(path: str | Path, root: Path) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


def recorded_hashes(source: DiskSource) -> Mapping[str, str]:
    """path -> sha256 that ``hf download --local-dir`` noted next to a file (its etag)."""
    notes = source.root / _DOWNLOADS
    hashes = {}
    if not notes.is_dir():
        return {}
    for path in source.list_files():
        try:
            with (notes / f"{path}.metadata").open(encoding="ascii") as file:
                lines = file.read(1_000).split("\n")
        except (OSError, ValueError):
            continue
        etag = lines[1].strip() if len(lines) > 1 else ""
        if len(etag) == 64 and not set(etag) - set("0123456789abcdef"):
            hashes[path] = etag
    return hashes
