"""Files in hidden folders: no listing has them, and no loader looks there unless it is led there.

An audit looks through them for pickles. The folders of version control are left out, but for what
version control does not put there: their objects are the same files once more.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .local import MAX_DEPTH
from .source import DiskSource, FileEntry

#: Files that are listed; a virtual environment has ten times as many.
MAX_HIDDEN_FILES = 5_000

#: What lies in the folders of version control, by the name of the folder.
_VERSIONED = {
    ".git": re.compile(
        r"[A-Z_]*HEAD|config(\.worktree)?|description|packed-refs|shallow|index(\.lock)?"
        r"|(COMMIT_EDIT|MERGE_|TAG_EDIT)MSG|gitk\.cache|hooks|info|objects|refs|logs|lfs|branches"
        r"|modules|worktrees|annex|xet"
    ),
    ".hg": re.compile(r"00changelog\.i|requires|branch|dirstate|hgrc|store|cache|wcache|undo\..*"),
    ".svn": re.compile(r"entries|format|wc\.db(-journal)?|pristine|tmp"),
}
#: Without these a folder is none of theirs.
_MARKS = {".git": {"HEAD", "objects", "refs"}, ".hg": {"store"}, ".svn": {"wc.db"}}


class Hidden(NamedTuple):
    """``files`` below hidden folders, the folders of version control, and paths that were ``left``:
    beyond a limit, links, and what may not be read."""

    files: tuple[FileEntry, ...] = ()
    versioned: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def hidden_files(source: DiskSource, paths: Iterable[str]) -> Hidden:
    """What lies below ``paths``, files or folders: at most MAX_HIDDEN_FILES, MAX_DEPTH deep."""
    files: list[FileEntry] = []
    versioned: list[str] = []
    left: list[str] = []
    todo = [(path, 0) for path in sorted(paths, reverse=True)]
    while todo:
        path, level = todo.pop()
        full = source.root / path
        if not full.is_dir():
            files.append(FileEntry(path, _size(full)))
        elif full.is_symlink() or level > MAX_DEPTH:
            left.append(path)
        else:
            inside = _names(full)
            if inside is None:
                left.append(path)
                continue
            if _MARKS.get(full.name, {""}).issubset(inside):
                versioned.append(path)
                inside = [n for n in inside if not _VERSIONED[full.name].fullmatch(n)]
            todo += [(f"{path}/{name}", level + 1) for name in inside]
        if len(files) > MAX_HIDDEN_FILES:
            left += [files.pop().path, *(path for path, _ in todo)]
            break
    return Hidden(tuple(files), tuple(versioned), tuple(left))


def _names(folder: Path) -> list[str] | None:
    """In reverse order, as they are taken from the end; None for a folder that may not be read."""
    try:
        return sorted((path.name for path in folder.iterdir()), reverse=True)
    except OSError:
        return None


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
