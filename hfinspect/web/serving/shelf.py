"""The models of this machine that the page offers: in named folders, and in the Hub's cache."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from ...errors import HfinspectError
from ...scanning.targets import below
from ...sources.hub.cached_repos import cached_repos

#: Models that are listed; a search is made among them.
MAX_MODELS: Final = 5_000


class OnShelf(NamedTuple):
    """One model: what a question names it by, where it is, and its size in bytes.

    Fields:
        name: as it is shown
        target: what a question names it by
        place: ``folder``, ``file`` or ``cache``
        nbytes [bytes]: of all its files; None where they cannot be counted
    """

    name: str
    target: str
    place: str
    nbytes: int | None


def shelf(paths: Sequence[Path]) -> list[OnShelf]:
    """At most MAX_MODELS, those of the named folders first."""
    return list(islice(_all(paths), MAX_MODELS))


def _all(paths: Sequence[Path]) -> Iterator[OnShelf]:
    for path in paths:
        if path.is_dir():
            for folder in below(path):
                yield OnShelf(_plain(folder), folder, "folder", _size_of(folder))
        else:
            yield OnShelf(_plain(str(path)), str(path), "file", _file_size(path))
    for repo in cached_repos():
        yield OnShelf(repo.repo_id, f"{repo.repo_id}@{repo.commit}", "cache", repo.nbytes)


def _plain(path: str) -> str:
    return path.removeprefix(f".{os.sep}")


def _file_size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _size_of(folder: str) -> int | None:
    """Bytes of what a source would list below a folder."""
    from ...sources.local import LocalSource

    try:
        entries = LocalSource(folder).list_files().values()
    except HfinspectError:
        return None
    return sum(entry.size or 0 for entry in entries)
