"""Header bytes that were read before, kept on this machine between runs.

An entry is what was read of one file of one repo at one endpoint, by everybody or by the owner of
one token (see ``caching``). Every entry carries the digest of its payload and the key it was
written for: one that does not match is dropped, never trusted. Writing is a rename, so several
processes may share a cache.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import Final

from ..core.json_form import JsonForm
from ..core.records import dataclass

#: Ten thousand models: the first range of a safetensors file is 100 kB.
DEFAULT_MAX_BYTES: Final = 1 << 30
#: A larger answer costs more to keep than to ask again.
MAX_ENTRY_BYTES: Final = 32 << 20
#: Entries between two looks at the cache's size: looking reads every file's stat.
_WRITES_BETWEEN_SWEEPS: Final = 500
#: An entry's file: the payload, its digest and its key, which is a repo, a commit and a path.
_MAX_FILE_BYTES: Final = MAX_ENTRY_BYTES + (1 << 16)
_MAGIC: Final = b"hfinspect-cache-2\n"


@dataclass(frozen=True)
class CacheInfo(JsonForm):
    """Where a cache is and how full.

    Fields:
        path: of its folder
        entries [entries]: that it holds, or held before they were deleted
        nbytes [bytes]: of those entries
        max_bytes [bytes]: beyond which the oldest entries are dropped
    """

    path: str
    entries: int
    nbytes: int
    max_bytes: int


class HeaderCache:
    """A directory of entries, oldest dropped first when it grows beyond ``max_bytes``.

    ``root`` may be a function that says where it is, called when it is first needed. With
    ``refresh`` nothing is taken from before: what is read now takes its place.
    """

    def __init__(
        self,
        root: str | Path | Callable[[], str],
        max_bytes: int = DEFAULT_MAX_BYTES,
        *,
        refresh: bool = False,
    ) -> None:
        self._root = root
        self.max_bytes = max_bytes
        self.refresh = refresh
        self._fresh: set[str] = set()
        self._writes = 0

    @cached_property
    def root(self) -> Path:
        return Path(self._root() if callable(self._root) else self._root)

    def get(self, key: str) -> bytes | None:
        """The payload of an entry, or None. A damaged entry is deleted."""
        if self.refresh and key not in self._fresh:
            return None
        path = self._path(key)
        try:
            data = _read(path)
        except OSError:
            return None
        head = _head(key)
        digest_end = len(head) + 32
        payload = data[digest_end:]
        if (
            data[: len(head)] != head
            or len(data) > _MAX_FILE_BYTES
            or _digest(payload) != data[len(head) : digest_end]
        ):
            _drop(path)
            return None
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keep a payload. A cache that cannot be written is no error: it is only slower."""
        if len(payload) > MAX_ENTRY_BYTES:
            return
        path = self._path(key)
        unfinished = path.with_name(_unfinished_name())
        try:
            handle = _created(unfinished)
        except OSError:
            return
        try:
            _write(handle, _head(key) + _digest(payload) + payload)
            unfinished.replace(path)
        except OSError:
            _drop(unfinished)
            return
        if self.refresh:
            self._fresh.add(key)
        self._writes += 1
        # The first write too: many short runs must not grow a cache that no long one sweeps.
        if self._writes % _WRITES_BETWEEN_SWEEPS == 1:
            self.sweep()

    def sweep(self) -> None:
        """Delete the oldest entries until the cache is a tenth below its limit."""
        entries = sorted(self._entries(), key=lambda entry: entry[1].st_mtime)
        total = sum(stat.st_size for _, stat in entries)
        if total <= self.max_bytes:
            return
        for path, stat in entries:
            _drop(path)
            total -= stat.st_size
            if total <= self.max_bytes * 9 // 10:
                return

    def info(self) -> CacheInfo:
        sizes = [stat.st_size for _, stat in self._entries()]
        return CacheInfo(str(self.root), len(sizes), sum(sizes), self.max_bytes)

    def clear(self) -> CacheInfo:
        """Delete every entry; what there was."""
        before = self.info()
        for path, _ in self._entries():
            _drop(path)
        return before

    def _path(self, key: str) -> Path:
        name = _digest(key.encode("utf-8", "surrogatepass")).hex()
        return self.root / name[:1] / name  # to make a folder takes as long as a request

    def _entries(self) -> list[tuple[Path, os.stat_result]]:
        stats = [(Path(path), _stat(path)) for path in _paths(self.root)]
        return [(path, stat) for path, stat in stats if stat is not None]


def _read(path: Path) -> bytes:
    """A file's bytes, up to what an entry may have and one more. Raises OSError, also for a pipe or
    a device: to read one may take for ever."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        status = os.fstat(handle)
        if not S_ISREG(status.st_mode):
            raise OSError("is no file")
        data = b""
        left = min(status.st_size, _MAX_FILE_BYTES) + 1
        while left and (piece := os.read(handle, left)):
            data = data + piece if data else piece
            left -= len(piece)
        return data
    finally:
        os.close(handle)


def _created(path: Path) -> int:
    """A new file that its owner alone may read, with its folders. Raises OSError."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path, flags, 0o600)


@functools.cache
def _name_of_process(pid: int) -> str:
    return f".new-{os.urandom(8).hex()}-{pid}"


def _unfinished_name() -> str:
    """A name that no other writer uses."""
    return f"{_name_of_process(os.getpid())}-{next(_writes)}"


_writes = itertools.count()


def _write(handle: int, data: bytes) -> None:
    """All of a file's bytes, and close it: few calls of the system, each of which lets another
    thread go on. Raises OSError."""
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


def _digest(data: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(data).digest()


def _paths(root: Path) -> Iterator[str]:
    for folder in _listed(root):
        if len(folder.name) <= 2 and folder.is_dir(follow_symlinks=False):
            yield from (entry.path for entry in _listed(folder.path))


def _listed(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # not there yet, or not any more
        return []


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - of thousands
    except OSError:  # another process has just deleted it
        return None


def _drop(path: Path) -> None:
    with suppress(OSError):  # another process was faster, or the cache is read-only
        path.unlink(missing_ok=True)


def _head(key: str) -> bytes:
    encoded = key.encode("utf-8", "surrogatepass")
    return _MAGIC + len(encoded).to_bytes(4, "little") + encoded
