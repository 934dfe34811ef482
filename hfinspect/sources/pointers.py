"""A directory as git checks it out without its large files: pointers stand for them.

A pointer of Git LFS is a text of three lines: the version, the sha256 and the size of the content.
Names and sizes are then known, and no byte of the content.
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import PointerError
from .local import LocalSource
from .source import FileEntry

#: The specification allows no longer ones.
MAX_POINTER: Final = 1024

_POINTER = re.compile(
    rb"version https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/v1\n"
    rb"(?:ext-[0-9]-[^\n]+\n)*"
    rb"oid sha256:(?P<oid>[0-9a-f]{64})\nsize (?P<size>0|[1-9][0-9]{0,17})\n?"
)


class Pointer(NamedTuple):
    """What a pointer says of the file that it stands for.

    Fields:
        sha256: of the content
        size [bytes]: of the content
    """

    sha256: str
    size: int


def parse_pointer(data: bytes) -> Pointer | None:
    """The pointer that a whole file is; None for any other file, a damaged pointer included."""
    match = _POINTER.fullmatch(data) if len(data) <= MAX_POINTER else None
    return None if match is None else Pointer(match["oid"].decode(), int(match["size"]))


class PointerSource(LocalSource):
    """A local directory in which a pointer is listed as the file that it stands for: by its name,
    the size and the sha256 that it says. Reading such a file raises PointerError; every other file
    is read as it is."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.pointers: dict[str, Pointer] = {}

    def _entry(self, name: str, *, is_link: bool = True) -> FileEntry:
        entry = super()._entry(name, is_link=is_link)
        if entry.size is None or not 0 < entry.size <= MAX_POINTER:
            return entry
        pointer = None
        path = self.root / name
        with suppress(OSError):  # what may not be read is said where it is read
            pointer = parse_pointer(path.read_bytes()) if path.is_file() else None
        if pointer is None:
            return entry
        self.pointers[name] = pointer
        return FileEntry(name, pointer.size, pointer.sha256)

    def size(self, path: str) -> int:
        pointer = self._pointer(path)
        return super().size(path) if pointer is None else pointer.size

    def read(self, path: str, start: int, stop: int) -> bytes:
        if self._pointer(path) is not None:
            raise PointerError(
                self._given, "is a Git LFS pointer: only its name and size are known", where=path
            )
        return super().read(path, start, stop)

    def _pointer(self, path: str) -> Pointer | None:
        self.list_files()
        return self.pointers.get(path)
