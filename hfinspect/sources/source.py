"""Source: one model's files behind one interface, whatever serves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

from ..core.refs import Origin
from ..errors import HfinspectError

__all__ = ["FileEntry", "Origin", "Source"]

T = TypeVar("T")


class FileEntry(NamedTuple):
    """One file of a model: POSIX path below the model's root, size in bytes if known,
    and the content's hash if the source knows it without reading (sha256 of an LFS object).

    Fields:
        path: below the model's root, with forward slashes
        size [bytes]: None where nobody says it
        sha256: of the content, where it is known without reading
    """

    path: str
    size: int | None = None
    sha256: str | None = None


class Source(Protocol):
    """Read-only access to one model's files.

    All methods raise ``AccessError`` subclasses. ``read`` is half-open and may return fewer bytes
    only where the file ends. Implementations are safe to call from several threads.
    """

    @property
    def origin(self) -> Origin: ...

    def list_files(self) -> Mapping[str, FileEntry]:
        """Every file below the root, by path."""
        ...

    def size(self, path: str) -> int:
        """Size of one file in bytes; raises EntryNotFoundError."""
        ...

    def read(self, path: str, start: int, stop: int) -> bytes:
        """Bytes ``start`` to ``stop`` of one file."""
        ...

    def read_spans(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Several ranges of one file, ascending and apart, each as ``read`` gives it: with one
        request where the server can."""
        ...

    def read_all(self, path: str, limit: int) -> bytes:
        """A whole small file; LimitError if it is larger than ``limit`` bytes."""
        ...

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T | HfinspectError]:
        """Run tasks that read from this source, at once where that pays; one result each, in
        order. An HfinspectError of a task is its result, anything else propagates."""
        ...

    def shard_headers(
        self, index_file: str, come: Callable[[int], None] | None = None
    ) -> Mapping[str, bytes | Mapping[str, object]] | None:
        """All safetensors shard headers in one go if the server can; None if it can't. ``come`` is
        called with the number of those that have come in so far."""
        ...

    def close(self) -> None: ...


#: What is made of a weight file: its header, parsed.
HEADER: Final = "header"


class Keeper(Protocol):
    """CacheItem between runs what was made of a model's files, next to what was read of them."""

    def kept(self, path: str, what: str, *, of_commit: bool = False) -> bytes | None:
        """``what`` was made of a file, or ``of_commit`` of this and others; None where nothing is
        kept."""
        ...

    def keep(
        self,
        path: str,
        what: str,
        made: bytes,
        *,
        of_commit: bool = False,
        instead_of: Sequence[str] = (),
    ) -> None:
        """From now on this, and no more the bytes that were read for it of the file, and of those
        that it is kept ``instead_of``."""
        ...


def keeper_of(source: Source) -> Keeper | None:
    """Who keeps what is made of the files of a source; None where nobody does."""
    found: Keeper | None = getattr(source, "keeper", None)
    return found


def locate(source: Source, path: str, stop: int) -> int:
    """Where it takes a request to find out where a file is: send it, before it is known how much
    of the file will be read; ``stop`` bytes from its beginning are a good guess. How many of them
    have come already. Raises AccessErrors."""
    find: Callable[[str, int], int] | None = getattr(source, "locate", None)
    return 0 if find is None else find(path, stop)
