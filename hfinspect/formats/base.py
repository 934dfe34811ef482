"""What every header reader has in common: it reads ranges of one file and returns a Shard."""

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from ..core.checkpoint import Shard
from ..core.records import dataclass
from ..errors import LimitError


class Reader(Protocol):
    """One file, read by range.

    ``size`` is the file's length in bytes, or None where the server does not say it before the
    first read; it must be known after the first ``read``. A reader whose reads cost no round trip
    says so by an attribute ``is_near``.
    """

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int | None: ...

    def read(self, start: int, stop: int) -> bytes:
        """Bytes ``start`` to ``stop``, half-open; fewer only where the file ends."""
        ...


@runtime_checkable
class SpanReader(Reader, Protocol):
    """A reader that may get several ranges, ascending and apart, in one round trip."""

    def read_spans(self, spans: Sequence[tuple[int, int]]) -> list[bytes]: ...


class HeaderFormat(Protocol):
    """A checkpoint format, registered by name in ``formats.registry``."""

    name: str

    def matches(self, path: str) -> bool:
        """Whether a file of this name is of this format."""
        ...

    def read_header(self, reader: Reader, *, first_guess: int | None = None) -> Shard:
        """Read the header and nothing else.

        ``first_guess`` is an upper bound on the header's bytes if the caller knows one: the size of
        the first range. Raises FormatError or LimitError.
        """
        ...


@dataclass(frozen=True)
class BytesReader:
    """A file that is already in memory (tests, answers that carry whole headers)."""

    path: str
    data: bytes
    is_near: ClassVar[bool] = True

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, stop: int) -> bytes:
        return self.data[max(start, 0) : max(stop, 0)]


def checked_limit(subject: str, what: str, value: int, limit: int) -> int:
    """``value`` if it is within ``limit``, else LimitError: sizes are bounded before allocating."""
    if value > limit:
        raise LimitError(subject, f"{what} is {value:,}", expected=f"at most {limit:,}")
    return value
