"""What a local path means in this process: a file on its disk, unless a server says otherwise.

``hfinspect serve`` answers a page. Its process reads no path but those that its user named,
whatever a page, a config (an adapter names its base) or a link says. Files that were dropped on the
page are a model at a path that no disk has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import UnreadableError

if TYPE_CHECKING:
    from .source import Source


class _Places:
    """Of the whole process: threads that read for each other obey the same limit."""

    allowed: tuple[str, ...] | None = None
    mounted: dict[str, Callable[[str | None], Source]] = {}  # noqa: RUF012 - one for all


@contextmanager
def only_below(paths: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """For a while this process reads no local model but those at and below ``paths``. Links count
    by where they lead."""
    before = _Places.allowed
    _Places.allowed = tuple(os.path.realpath(os.fspath(path)) for path in paths)
    try:
        yield
    finally:
        _Places.allowed = before
        _Places.mounted.clear()


def may_be_read(path: str) -> bool:
    """Whether a path lies below those that were named; all do where no limit was set."""
    if _Places.allowed is None or _mount_of(path) is not None:
        return True
    try:
        real = os.path.realpath(os.path.expanduser(path))  # noqa: PTH111 - pathlib may raise
    except (OSError, ValueError):
        return False
    return any(_below(real, root) for root in _Places.allowed)


def refuse_outside(target: str, path: str, where: str | None = None) -> None:
    """Raises UnreadableError about ``target`` where ``path`` may not be read."""
    if _Places.allowed is not None and not may_be_read(path):
        raise UnreadableError(
            target,
            "is outside the folders that this server may read",
            where=where,
            hint="name its folder when you start the server",
        )


def mount(place: str, opened: Callable[[str | None], Source]) -> None:
    """From now on ``place`` and what lies below it are opened by ``opened(path below it)``."""
    _Places.mounted[place] = opened


def unmount(place: str) -> None:
    """The opposite of ``mount``."""
    _Places.mounted.pop(place, None)


def mounted(path: str) -> Source | None:
    """What was mounted at a path or above it, opened; None for a path on the disk."""
    place = _mount_of(path)
    if place is None:
        return None
    return _Places.mounted[place](path[len(place) :].strip("/") or None)


def _mount_of(path: str) -> str | None:
    return next((p for p in tuple(_Places.mounted) if path == p or path.startswith(f"{p}/")), None)


def _below(real: str, root: str) -> bool:
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)
