"""Source: one model's files behind one interface, whatever serves them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

from ..core.refs import Origin
from ..errors import HfinspectError
from .deadline import Deadline

__all__ = ["DiskSource", "FileEntry", "Origin", "Source"]

T = TypeVar("T")


class FileEntry(NamedTuple):
    """One file of a model: POSIX path below the model's root, size in bytes if known,
    and the content's hash if the source knows it without reading (sha256 of an LFS object, or
    another one, with its kind before it: ``git:`` of a blob, ``xet:``).

    Fields:
        path: below the model's root, with forward slashes
        size [bytes]: None if unknown
        sha256: of the content, if known without reading it
        object_id: another hash of the content, with its kind before it
    """

    path: str
    size: int | None = None
    sha256: str | None = None
    object_id: str | None = None


class Source(ABC):
    """Read-only access to one model's files.

    All methods raise ``AccessError`` subclasses. ``read`` is half-open and may return fewer bytes
    only where the file ends. Implementations are safe to call from several threads. What only some
    sources can do has a default here: that of one which cannot.
    """

    @property
    @abstractmethod
    def origin(self) -> Origin: ...

    @abstractmethod
    def list_files(self) -> Mapping[str, FileEntry]:
        """Every file below the root, by path."""

    @abstractmethod
    def size(self, path: str) -> int:
        """Size of one file in bytes; raises EntryNotFoundError."""

    @abstractmethod
    def read(self, path: str, start: int, stop: int) -> bytes:
        """Bytes ``start`` to ``stop`` of one file."""

    @abstractmethod
    def read_all(self, path: str, limit: int) -> bytes:
        """A whole small file; LimitError if it is larger than ``limit`` bytes."""

    @abstractmethod
    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T | HfinspectError]:
        """Run tasks that read from this source, at once where that pays; one result each, in
        order. An HfinspectError of a task is its result, anything else propagates."""

    @abstractmethod
    def close(self) -> None: ...

    def set_deadline(self, deadline: Deadline) -> None:  # noqa: B027 - nobody waits for a disk
        """From now on all requests end by this deadline, in place of another one."""

    def read_spans(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Several ranges of one file, ascending and apart, each as ``read`` gives it: with one
        request where the server can."""
        return [self.read(path, start, stop) for start, stop in spans]

    def shard_headers(
        self,
        index_file: str,  # noqa: ARG002 - only a server can have them ready
        come: Callable[[int], None] | None = None,  # noqa: ARG002
    ) -> Mapping[str, bytes | Mapping[str, object]] | None:
        """All safetensors shard headers in one go if the server can; None if it can't. ``come`` is
        called with the number of those that have come in so far."""
        return None

    def locate(self, path: str, stop: int) -> int:  # noqa: ARG002
        """Where it takes a request to find out where a file is: send it, before it is known how
        much of the file will be read; ``stop`` bytes from its beginning are a good guess. How many
        of them have come already."""
        return 0

    def known_size(self, path: str) -> int | None:
        """Size of a file in bytes if it is known without a request."""
        return self.size(path)

    @property
    def is_near(self) -> bool:
        """Whether reads cost no round trips."""
        return False

    @property
    def parsed_cache(self) -> ParsedCache | None:
        """What keeps between runs what is made of the files; None where nothing does."""
        return None

    @property
    def listing_complete(self) -> bool:
        """Whether ``list_files`` is known to name all files."""
        return True

    @property
    def refused(self) -> Mapping[str, HfinspectError]:
        """Folders on disk that may not be read, each with the error."""
        return {}

    @property
    def passed_over(self) -> Mapping[str, str]:
        """Folders on disk that are not in the listing: path -> why."""
        return {}

    @property
    def on_disk(self) -> DiskSource | None:
        """This source, or the one below, where all of it lies on a disk."""
        return None

    def reader_id(self) -> str | None:
        """Who asks, as a digest of the token; None for nobody in particular."""
        return None

    def is_public(self) -> bool:
        """Whether everybody may read the model, as far as its server has said."""
        return False


class DiskSource(Source):
    """A source whose files lie below the directory ``root``."""

    root: Path

    @property
    def is_near(self) -> bool:
        return True

    @property
    def on_disk(self) -> DiskSource:
        return self


#: What is made of a weight file: its header, parsed.
HEADER: Final = "header"


class ParsedCache(Protocol):
    """Keeps between runs what was made of a model's files, next to what was read of them."""

    def load_parsed(self, path: str, what: str, *, of_commit: bool = False) -> bytes | None:
        """``what`` was made of a file, or ``of_commit`` of this and others; None where nothing is
        kept."""
        ...

    def store_parsed(
        self,
        path: str,
        what: str,
        parsed: bytes,
        *,
        of_commit: bool = False,
        instead_of: Sequence[str] = (),
    ) -> None:
        """From now on this, and no more the bytes that were read for it of the file, and of those
        that it is kept ``instead_of``."""
        ...


def outcome(task: Callable[[], T]) -> T | HfinspectError:
    """The result of a task, or its HfinspectError."""
    try:
        return task()
    except HfinspectError as error:
        return error
