"""One answer of a server, read no further than needed.

Everything here assumes that the other side may be broken or hostile: bodies are bounded, ranges
are checked against what was asked, and what is inflated is inflated in pieces.
"""

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urljoin

from ....core.collector import collector_paused
from ....core.nesting import NestingError, loads
from ....core.text import clean

#: Inflated at most this much at a time, so that a gzip bomb is noticed by the caller's limit.
PIECE_BYTES = 1 << 16

#: Bodies of redirects and errors are read up to here to keep the connection; they are never longer.
SMALL_BODY_BYTES = 1 << 16

#: A server that ignores Range is read up to the wanted bytes only if they start before this offset.
MAX_SKIPPED_BYTES = 16 << 20

#: The slowest line that is worth waiting for. A body that comes in slower is a stall.
SLOWEST_BYTES_PER_SECOND = 16_000

#: Boundary lines and headers around each part of an answer of several ranges; real ones take 150.
MAX_PART_HEAD_BYTES = 4096

_REDIRECTS = frozenset({301, 302, 303, 307, 308})

_CONTENT_RANGE = re.compile(r"bytes\s+(?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)")

#: A part's own Content-Range, which names the size of the whole file.
_RANGE_LINE = re.compile(
    r"^Content-Range:\s*bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18})\s*$",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)


class BrokenAnswerError(Exception):
    """The body is not what the answer's head, or the file list, predicted. Worth another try."""


class UnusableAnswerError(Exception):
    """The answer is complete but no use, and would be so again."""


class StalledError(Exception):
    """The body comes in slower than SLOWEST_BYTES_PER_SECOND."""


class TooLongError(Exception):
    """The body is longer than the limit given, in bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(limit)


class RangePart(NamedTuple):
    """Some bytes of a file, and the file's size if the answer says it."""

    data: bytes
    size: int | None


class Answer:
    """A streamed HTTP answer (of httpx or its successor, whichever huggingface_hub uses)."""

    def __init__(self, response: Any, clock: Callable[[], float], patience: float) -> None:
        self._response = response
        self._clock = clock
        self._patience = patience
        self.status: int = response.status_code
        # A plain dict: the HTTP library's headers guess their encoding anew at every look.
        self.headers: Mapping[str, str] = dict(response.headers)
        self._location: str | None = response.extensions.get("location") or self.headers.get(
            "location"
        )

    @property
    def url(self) -> str:
        return str(self._response.url)

    @property
    def location(self) -> str | None:
        """Where a redirect leads, absolute; None if this is no redirect."""
        where = self._location
        if self.status not in _REDIRECTS or not where:
            return None
        if where.startswith(("http://", "https://")):
            return where
        try:
            return urljoin(self.url, where)
        except ValueError as error:
            raise UnusableAnswerError("redirects to an invalid address") from error

    @property
    def leads_nowhere(self) -> bool:
        """Whether this is neither an answer nor a redirect to one."""
        return self.status >= 300 and not (self._location and self.status in _REDIRECTS)

    @property
    def is_page(self) -> bool:
        """Whether this is a web page: what proxies and captive portals answer."""
        return self.headers.get("content-type", "").lower().startswith("text/html")

    def drain(self) -> bytes:
        """A small body to its end, so that the connection can be used again; b'' if too long."""
        try:
            return self.read_body(SMALL_BODY_BYTES)
        except (TooLongError, BrokenAnswerError):
            return b""

    def read_body(self, limit: int, watch: Callable[[bytes], None] | None = None) -> bytes:
        """The whole body; TooLongError if it is longer than ``limit`` bytes when inflated.

        ``watch`` is called with each piece of it as it comes in."""
        data = bytearray()
        for piece in self._pieces():
            data += piece
            if watch is not None:
                watch(piece)
            if len(data) > limit:
                raise TooLongError(limit)
        return bytes(data)

    def json(self, limit: int, watch: Callable[[bytes], None] | None = None) -> bytes:
        """The body of an answer that must be JSON, unparsed; ``watch`` as in ``read_body``."""
        if self.is_page:
            raise UnusableAnswerError("answered with a web page where JSON was expected")
        return self.read_body(limit, watch)

    def part(self, start: int, stop: int) -> RangePart:
        """Bytes ``start`` to ``stop`` (half-open) of the file, by whatever means were answered."""
        if self.status == 206:
            return self._partial(start, stop)
        if self.status == 416:
            return self._past_the_end(start)
        return self._front_of_whole(start, stop)

    def parts(self, spans: Sequence[tuple[int, int]]) -> list[RangePart]:
        """Several ranges (ascending, apart), or fewer of them where the server does not do that:
        the first one, or none. RFC 9110, 14.6."""
        kind, boundary = _multipart(self.headers.get("content-type", ""))
        if self.status != 206 or not kind:
            return [self.part(*spans[0])] if self._begins_at(spans[0][0]) else []
        limit = sum(stop - start for start, stop in spans)
        try:
            body = self.read_body(limit + (len(spans) + 1) * MAX_PART_HEAD_BYTES)
        except TooLongError:
            return []
        return _split_parts(body, boundary, spans)

    def _begins_at(self, start: int) -> bool:
        """Whether ``part`` can take bytes from ``start`` on out of this answer."""
        content_range = self.headers.get("content-range", "").strip()
        return self.status == 200 or (
            self.status == 206 and content_range.startswith(f"bytes {start}-")
        )

    def _partial(self, start: int, stop: int) -> RangePart:
        content_range = self.headers.get("content-range", "").strip()
        match = _CONTENT_RANGE.fullmatch(content_range)
        if not content_range and not self._coding and self._declared_length == stop - start:
            return self._just(start, stop, None)  # hidden, but just so many bytes were requested
        if not match or not match[1] or self._coding:
            raise UnusableAnswerError("answered 206 without a usable Content-Range")
        first = int(match[1])
        last = int(match[2])
        size = None if match[3] == "*" else int(match[3])
        end = stop if size is None else min(stop, size)
        if first != start or last + 1 > end or (size is not None and last + 1 != end):
            raise UnusableAnswerError(
                f"answered bytes {first}-{last} where {start}-{end - 1} were requested"
            )
        return self._just(first, last + 1, size)

    def _just(self, start: int, stop: int, size: int | None) -> RangePart:
        """The body, which is to be these bytes of a file."""
        data = bytearray()
        for piece in self._pieces():
            data += piece
            if len(data) > stop - start:
                raise BrokenAnswerError("sent more bytes than its head says")
        if len(data) != stop - start:
            raise BrokenAnswerError("sent fewer bytes than its head says")
        return RangePart(bytes(data), size)

    def _past_the_end(self, start: int) -> RangePart:
        match = _CONTENT_RANGE.fullmatch(self.headers.get("content-range", "").strip())
        size = int(match[3]) if match and match[3] != "*" else None
        if size is not None and size > start:
            raise UnusableAnswerError(f"says byte {start} is past the end of {size} bytes")
        self.drain()
        return RangePart(b"", size)

    def _front_of_whole(self, start: int, stop: int) -> RangePart:
        """The server ignores Range: take the bytes as they pass and hang up."""
        if start > MAX_SKIPPED_BYTES:
            raise UnusableAnswerError(
                "ignores Range requests, so the middle of a file is out of reach"
            )
        size = None if self._coding else self._declared_length
        if size is not None and size <= start:
            return RangePart(b"", size)
        data = bytearray()
        for piece in self._pieces():
            data += piece
            if len(data) >= stop and len(data) != size:
                return RangePart(bytes(data[start:stop]), size)
        return RangePart(bytes(data[start:stop]), len(data))

    @property
    def _coding(self) -> str:
        coding = self.headers.get("content-encoding", "").strip().lower()
        return "" if coding == "identity" else coding

    @property
    def _declared_length(self) -> int | None:
        value = self.headers.get("content-length", "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None

    def _pieces(self) -> Iterator[bytes]:
        """The body as it comes in, inflated; StalledError if it only trickles."""
        deadline = self._clock() + self._patience
        for piece in self._inflated() if self._coding else self._response.iter_raw():
            if self._clock() > deadline:
                raise StalledError
            deadline += len(piece) / SLOWEST_BYTES_PER_SECOND
            yield piece

    def _inflated(self) -> Iterator[bytes]:
        if self._coding not in ("gzip", "x-gzip", "deflate"):
            raise UnusableAnswerError(
                f"sent the encoding {clean(self._coding, 20)}, which hfinspect did not request"
            )
        inflater = zlib.decompressobj(wbits=47)  # 32 + 15: gzip or zlib, by its first bytes
        try:
            for chunk in self._response.iter_raw():
                rest = chunk
                while rest:
                    yield inflater.decompress(rest, PIECE_BYTES)
                    rest = inflater.unconsumed_tail
            yield inflater.flush()
        except zlib.error as error:
            raise BrokenAnswerError("sent a body that does not inflate") from error
        if not inflater.eof:
            raise BrokenAnswerError("sent a compressed body that is cut off")


def _multipart(content_type: str) -> tuple[bool, bytes]:
    """Whether a content type is that of several ranges, and the boundary that it names."""
    kind, _, parameters = content_type.partition(";")
    name, _, value = parameters.strip().partition("=")
    is_multipart = kind.strip().lower() == "multipart/byteranges" and name.lower() == "boundary"
    return is_multipart, value.strip().strip('"').encode("latin-1", "replace")


def _split_parts(body: bytes, boundary: bytes, spans: Sequence[tuple[int, int]]) -> list[RangePart]:
    """The parts of a multipart body, in the order of ``spans``; none unless it has just these.

    A part's length is what its own Content-Range says, so data may hold anything.
    """
    parts: list[RangePart] = []
    at = body.find(b"--" + boundary + b"\r\n")
    for start, stop in spans:
        head_end = body.find(b"\r\n\r\n", at, at + MAX_PART_HEAD_BYTES)
        if at < 0 or head_end < 0 or not body.startswith(b"--" + boundary + b"\r\n", at):
            return []
        match = _RANGE_LINE.search(body[at:head_end].decode("latin-1"))
        if match is None:
            return []
        first, last, size = (int(group) for group in match.groups())
        begin = head_end + 4
        data = body[begin : begin + last + 1 - first]
        if (first, last + 1) != (start, min(stop, size)) or len(data) != last + 1 - first:
            return []
        parts.append(RangePart(data, size))
        at = begin + len(data) + 2
        if body[at - 2 : at] != b"\r\n":
            return []
    is_whole = body.startswith(b"--" + boundary + b"--", at)
    return parts if is_whole and len({part.size for part in parts}) == 1 else []


def parse_json(data: bytes) -> object:
    """Parsed JSON; BrokenAnswerError if it is none."""
    try:
        with collector_paused():
            return loads(data)
    except NestingError as error:
        raise BrokenAnswerError(f"answered JSON that {error}") from error
    except ValueError as error:
        raise BrokenAnswerError("answered something that is not JSON") from error
