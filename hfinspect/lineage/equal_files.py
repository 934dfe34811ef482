"""Equal files of two models, by hashes that the Hub or its cache has noted."""

from __future__ import annotations

from collections.abc import Mapping

from ..checkpoints.filenames import weight_name
from ..core.weight_changes import EqualFile, FileIdentity
from ..sources.disk import recorded_hashes
from ..sources.source import FileEntry, Source


class HashedFiles:
    """The files of a model and what is known of their content without reading it."""

    def __init__(self, entries: Mapping[str, FileEntry], noted: Mapping[str, str]) -> None:
        self.entries = entries
        self._noted = noted

    @classmethod
    def of(cls, source: Source) -> HashedFiles:
        disk = source.on_disk
        return cls(source.list_files(), {} if disk is None else recorded_hashes(disk))

    def hashes(self, path: str) -> frozenset[str]:
        """Each says of what kind it is; two files are equal if they share one."""
        entry = self.entries[path]
        sha256 = entry.sha256 or self._noted.get(path)
        known = {f"sha256:{sha256}"} if sha256 else set()
        return frozenset(known | {entry.object_id} if entry.object_id else known)


def identity(first: HashedFiles, other: HashedFiles) -> FileIdentity | None:
    """Equal files of ``other``; None where no hash of either is known."""
    by_hash: dict[str, str] = {}
    for path in first.entries:
        for known in first.hashes(path):
            by_hash.setdefault(known, path)
    compared = 0
    equal: list[EqualFile] = []
    weights: list[bool | None] = []
    for path, entry in other.entries.items():
        hashes = other.hashes(path)
        compared += bool(hashes)
        there = _same_path(path, hashes, first) or next(
            (by_hash[known] for known in sorted(hashes) if known in by_hash), None
        )
        named = weight_name(path)
        is_weights = named is not None and not named.is_index
        if is_weights:
            weights.append(there is not None if hashes else None)
        if there is not None:
            equal.append(EqualFile(path, there, entry.size, is_weights))
    if not by_hash or not compared:
        return None
    return FileIdentity(tuple(equal), compared, len(other.entries), _all(weights))


def _same_path(path: str, hashes: frozenset[str], first: HashedFiles) -> str | None:
    return path if path in first.entries and hashes & first.hashes(path) else None


def _all(known: list[bool | None]) -> bool | None:
    if not known or None in known:
        return None
    return all(known)
