"""One connection to a server: the standard library's ``http.client``, in time and within bounds.

It knows no time for a whole request, no end of 1xx answers and of trailers, and is generous with
heads and with what frames a body; each of these is decided here.
"""

from __future__ import annotations

import io
import re
import select
import socket
import ssl
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    IncompleteRead,
    RemoteDisconnected,
)
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

#: The most headers of one answer.
MAX_FIELDS: Final = 100

#: RFC 9112, 4 and 5; a value may hold anything but what ends a line.
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n\0]*)?\r?\n")
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_FRAMING: Final = (b"content-length", b"transfer-encoding")
_ODD = re.compile(rb"[\r\n\0]")
_AROUND: Final = b" \t\r\n"

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
        self.heard = self.heard or count > 0
        return count

    def _received(self, buffer: Any, wait: float | None) -> int:
        self._wait_at_most(wait)
        return self._sock.recv_into(buffer)

    def sendall(self, data: bytes) -> None:
        wait = time_left(self.waits.get("write"), "WriteTimeout", self._library)
        sent = 0

        def send(part: float | None) -> int:
            self._wait_at_most(part)
            return self._sock.send(data[sent:])

        try:
            while sent < len(data):
                sent += patiently(send, wait, TimeoutError)
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
    if sys.platform == "win32":  # where any number of a socket will do
        return bool(select.select([sock], [], [], 0)[0])
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


class Reply(HTTPResponse):
    """An answer whose head is there. Raises HTTPException for one that is framed doubtfully.

    Its head is read here: that of ``http.client`` goes through a parser of letters, which takes
    most of the time of a small answer and passes over lines that are no headers.
    """

    def __init__(self, sock: Any, debuglevel: int = 0, method: str | None = None) -> None:
        super().__init__(sock, debuglevel, method)
        self._stream: Stream = sock
        self._is_head = method == "HEAD"
        #: Names and values of its headers.
        self.fields: list[tuple[bytes, bytes]] = []

    def begin(self) -> None:
        minor, status = self._status_line()
        fields = self._field_lines()
        while status < 200:
            if status == 101:
                raise HTTPException("switches to another protocol")
            minor, status = self._status_line()
            fields = self._field_lines()
        self.fields = fields
        self.code = self.status = status
        self.version = 10 + minor
        self._frame(minor == 1)

    def _status_line(self) -> tuple[int, int]:
        """The minor version, and the status."""
        line = self.fp.readline(MAX_HEAD_BYTES)
        if not line:
            raise RemoteDisconnected("hangs up without an answer")
        match = _STATUS_LINE.fullmatch(line)
        if match is None:
            raise HTTPException("sends something that is no head")
        return int(match[1]), int(match[2])

    def _field_lines(self) -> list[tuple[bytes, bytes]]:
        fields: list[tuple[bytes, bytes]] = []
        readline = self.fp.readline
        while (line := readline(MAX_HEAD_BYTES)) not in (b"\r\n", b"\n"):
            name, _, value = line.partition(b":")
            value = value.strip(_AROUND)
            if _NAME.fullmatch(name) and line[-1:] == b"\n" and not _ODD.search(value):
                fields.append((name, value))
            elif (
                fields
                and line[:1] in (b" ", b"\t")
                and not _ODD.search(more := line.strip(_AROUND))
            ):
                fields[-1] = fields[-1][0], fields[-1][1] + b" " + more
            else:
                raise HTTPException("sends something that is no header")
            if len(fields) > MAX_FIELDS:
                raise HTTPException(f"sends more than {MAX_FIELDS} headers")
        return fields

    def _frame(self, is_new: bool) -> None:
        """How the body ends, and the connection."""
        said: dict[bytes, bytes] = {}
        for name, value in self.fields:
            lower = name.lower()
            if (
                lower in (b"content-length", b"transfer-encoding")
                and said.get(lower, value) != value
            ):
                raise HTTPException("frames its body in two ways")
            said[lower] = value
        coding, length = said.get(b"transfer-encoding"), said.get(b"content-length")
        if coding is not None and coding.lower() != b"chunked":
            raise HTTPException("sends its body in a way that is not known")
        self.chunked = coding is not None
        self.chunk_left = self.length = None
        if length is not None and not self.chunked:
            if not length.isdigit() or len(length) > 18:
                raise HTTPException("sends a body of a length that is none")
            self.length = int(length)
        if self.status in (204, 304) or self._is_head:
            self.length, self.chunked = 0, False
        connection = said.get(b"connection", b"").lower()
        stays = b"close" not in connection if is_new else b"keep-alive" in connection
        self.will_close = not stays or (self.length is None and not self.chunked)

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
