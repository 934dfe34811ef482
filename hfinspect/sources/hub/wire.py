"""One connection to a server: the standard library's ``http.client``, in time and within bounds.

It knows no time for a whole request, no end of 1xx answers and of trailers, and is generous with
what frames a body; each of these is decided here.
"""

from __future__ import annotations

import io
import select
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from email import errors
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import Any, Final, NamedTuple

from ..waiting import patiently
from .bounded import elsewhere, time_left

#: The most bytes of a status line, all headers and all 1xx answers before them; real ones take two
#: thousand, of which a signed address is half.
MAX_HEAD_BYTES: Final = 128 << 10

#: The most bytes of chunk sizes and trailers around one piece of a body.
MAX_FRAME_BYTES: Final = 64 << 10

#: A body comes in pieces of at most so many bytes.
PIECE_BYTES: Final = 64 << 10

#: What the parser says of lines that are no header; what it says of bodies is none of its business.
_NO_HEADER: Final = (
    errors.FirstHeaderLineIsContinuationDefect,
    errors.InvalidHeaderDefect,
    errors.MisplacedEnvelopeHeaderDefect,
    errors.MissingHeaderBodySeparatorDefect,
)

#: Bytes requested of the system at a time while a head is read: one head, and a small body.
_BUFFER: Final = 16 << 10


class Origin(NamedTuple):
    """What a connection leads to."""

    scheme: str
    host: str
    port: int


class Stream(io.RawIOBase):
    """A connected socket as ``http.client`` uses it. Each wait on it is at most that of ``waits``
    (``read``, ``write``, in seconds), ends when the time of the request has passed, and lets
    Ctrl-C through."""

    def __init__(self, sock: socket.socket, library: Any) -> None:
        self._sock = sock
        self._library = library
        self._timeout: float | None = -1.0  # none that a socket has: not set yet
        self._reader = _Reader(self, _BUFFER)
        self.waits: Mapping[str, float | None] = {}
        #: Bytes that may still come in; HTTPException for more.
        self.allowance = 0
        #: Whether anything has come in since this was last set to False.
        self.heard = False
        #: Whether the other side has hung up.
        self.is_over = False
        self._paused = False

    def readable(self) -> bool:
        return True

    def makefile(self, _mode: str) -> _Reader:
        """What answers are read from: one after the other from the same."""
        return self._reader

    def readinto(self, buffer: Any) -> int | None:
        if self._paused:
            return None
        if self.allowance <= 0:
            raise HTTPException("sends a head, or what frames a body, without end")
        wait = time_left(self.waits.get("read"), "ReadTimeout", self._library)
        count = patiently(lambda part: self._received(buffer, part), wait, TimeoutError)
        self.allowance -= count
        if count:
            self.heard = True
        else:
            self.is_over = True
        return count

    def _received(self, buffer: Any, wait: float | None) -> int:
        self._wait_at_most(wait)
        return self._sock.recv_into(buffer)

    def sendall(self, data: bytes) -> None:
        self._wait_at_most(time_left(self.waits.get("write"), "WriteTimeout", self._library))
        try:
            self._sock.sendall(data)
        except TimeoutError as error:
            raise self._library.WriteTimeout(str(error)) from error

    def _wait_at_most(self, seconds: float | None) -> None:
        if seconds != self._timeout:  # each change is a call of the system
            self._timeout = seconds
            self._sock.settimeout(seconds)

    def has_more(self) -> bool:
        """Whether bytes are there that nobody has requested, or the other side has hung up."""
        self._paused = True
        try:
            return bool(self._reader.peek(1)) or _is_readable(self._sock)
        finally:
            self._paused = False

    def close(self) -> None:
        """``http.client`` closes a connection when its last request is sent; the answer, however,
        comes in by it. See ``end``."""

    def end(self) -> None:
        """Close the connection."""
        self._sock.close()


class _Reader(io.BufferedReader):
    """Of a connection; ``http.client`` closes it at the end of each answer."""

    def close(self) -> None:
        """Nothing: the next answer is read from it as well."""


def _is_readable(sock: socket.socket) -> bool:
    """Whether a read would not wait."""
    if isinstance(sock, ssl.SSLSocket) and sock.pending():
        return True
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock], [], [], 0)[0])  # Windows, where any number will do


class Reply(HTTPResponse):
    """An answer whose head is there. Raises HTTPException for one that is framed doubtfully."""

    def __init__(self, sock: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self._stream: Stream = sock

    def begin(self) -> None:
        super().begin()
        while 100 <= self.status < 200:
            if self.status == 101:
                raise HTTPException("switches to another protocol")
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        if self._stream.is_over:  # which counts as the end of the head
            raise HTTPException("sends a head that is cut")
        if any(isinstance(defect, _NO_HEADER) for defect in self.headers.defects):
            raise HTTPException("sends something that is no header")
        lengths = self.headers.get_all("content-length", [])
        coded = "transfer-encoding" in self.headers
        if coded and not self.chunked:
            raise HTTPException("sends its body in a way that is not known")
        if not coded and lengths and (len({*lengths}) > 1 or not _is_count(lengths[0])):
            raise HTTPException("sends a body of a length that is none")

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Names and values of its headers. Cookies are left out: nobody gets them back."""
        return [
            (name.encode("latin-1"), _one_line(value).encode("latin-1"))
            for name, value in self.headers.items()
            if name.lower() != "set-cookie"
        ]

    def pieces(self) -> Iterator[bytes]:
        """Its body as it comes in. Raises HTTPException where it is cut."""
        while True:
            self._stream.allowance = PIECE_BYTES + MAX_FRAME_BYTES
            piece = self.read1(PIECE_BYTES)
            if not piece:
                break
            yield piece
        if self.length:
            raise IncompleteRead(b"", self.length)


def _one_line(value: str) -> str:
    """A header's value without what surrounds it; lines that continue it are joined."""
    return " ".join(value.split()) if "\n" in value or "\r" in value else value.strip(" \t")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


class Connection(HTTPConnection):
    """A connection to ``origin``, opened by ``open``. ``kept_since`` is when it became idle."""

    response_class = Reply
    auto_open = 0

    def __init__(self, origin: Origin, tls: ssl.SSLContext, library: Any) -> None:
        super().__init__(origin.host, origin.port)
        self.origin = origin
        self.kept_since = 0.0
        self._tls = tls
        self._library = library
        self._stream: Stream | None = None

    def open(self, wait: float | None) -> None:
        """Look up the name, connect and agree on encryption, each within ``wait`` seconds."""
        host, port = self.origin.host, self.origin.port
        sock = self._in_time(lambda left: socket.create_connection((host, port), left), wait)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.origin.scheme == "https":
                sock = self._in_time(lambda left: self._encrypted(sock, left), wait)
        except BaseException:
            sock.close()
            raise
        self.use(sock)

    def use(self, sock: socket.socket) -> None:
        """Talk over a socket that is connected."""
        self.sock = self._stream = Stream(sock, self._library)

    def _encrypted(self, sock: socket.socket, wait: float | None) -> socket.socket:
        sock.settimeout(wait)
        return self._tls.wrap_socket(sock, server_hostname=self.origin.host)

    def _in_time(self, step: Any, wait: float | None) -> socket.socket:
        """What a step returns that gets the seconds left. It runs in another thread, for neither
        the look-up of a name nor a handshake hears Ctrl-C."""
        left = time_left(wait, "ConnectTimeout", self._library)
        if left is None:
            return step(None)  # type: ignore[no-any-return]
        return elsewhere(lambda: step(left), left, self._library)  # type: ignore[no-any-return]

    @property
    def stream(self) -> Stream:
        """What ``open`` has opened."""
        assert self._stream is not None
        return self._stream

    def exchange(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[bytes, bytes]],
        waits: Mapping[str, float | None],
    ) -> Reply:
        """Send a request that has no body; the answer, its body not yet read."""
        stream = self.stream
        stream.waits, stream.allowance, stream.heard = waits, MAX_HEAD_BYTES, False
        self.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            self.putheader(name, value)
        self.endheaders()
        reply = self.getresponse()
        assert isinstance(reply, Reply)
        return reply

    def is_of_use(self, seconds: float) -> bool:
        """Whether it was idle for less than so many seconds, and the other side said nothing."""
        return time.monotonic() - self.kept_since < seconds and not self.stream.has_more()

    def end(self) -> None:
        """Close it."""
        if self._stream is not None:
            self._stream.end()
