"""One connection to a server: requests without a body by HTTP/1.1, in time and within bounds.

The standard library's ``http.client`` knows no time for a whole request, no end of 1xx answers and
of trailers, is generous with heads and with what frames a body, and imports a parser of letters.
All that a Hub and its storage host need of HTTP is here instead.
"""

from __future__ import annotations

import re
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from ...waiting import interruptible
from .bounded import elsewhere, time_left

if TYPE_CHECKING:
    import ssl

#: The most bytes of a status line, all headers and all 1xx answers before them; real ones take two
#: thousand, of which a signed address is half.
MAX_HEAD_BYTES: Final = 128 << 10

#: The most bytes of chunk sizes and trailers around one piece of a body.
MAX_FRAME_BYTES: Final = 64 << 10

#: A body comes in pieces of at most so many bytes.
PIECE_BYTES: Final = 64 << 10

#: RFC 9112, 2 to 5; a value may hold anything but what ends a line.
_STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n\0]*)?\r?\n")
_FIELD = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\r\n\0]*)\r?\n")
_CONTINUED = re.compile(r"[ \t]([^\r\n\0]*)\r?\n")
_HEAD_END = re.compile(rb"\n\r?\n")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n\0]*)?\r?\n")
_ODD = re.compile(r"[^\x20-\x7e]")

#: Bytes requested of the system at a time while a head is read: one head, and a small body.
_BUFFER: Final = 16 << 10


class WireError(Exception):
    """What goes wrong between here and a server; see the classes that come from it."""


class NoConnectionError(WireError):
    """No connection: nobody there, no such name, a certificate that is not trusted."""


class TooSlowError(WireError):
    """What was waited for did not come in time."""


class BrokenConnectionError(WireError):
    """The connection ended too early, or what came over it is no HTTP."""


class UnsendableError(WireError):
    """A request that would not arrive as what it is."""


class HttpOrigin(NamedTuple):
    """What a connection leads to."""

    scheme: str
    host: str
    port: int


class RequestTarget(NamedTuple):
    """What is requested of an origin: ``host`` is the header of this name; ``login`` is the
    Authorization that an address with a password stands for."""

    url: str
    path: str
    host: str
    login: str | None = None


class Stream:
    """A connected socket. Each wait on it is at most ``wait`` seconds, ends when the time of the
    request has passed, and lets Ctrl-C through."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._timeout: float | None = -1.0  # none that a socket has: not set yet
        self._most = 0
        #: What has come in and was not taken yet.
        self.buffered = b""
        self.wait: float | None = None
        #: Bytes that may still come in; BrokenConnectionError for more.
        self.allowance = 0

    def received(self, most: int) -> bytes:
        """At most so many bytes: those that are kept, else what comes in next; none at the end."""
        if self.buffered:
            data = self.buffered[:most]
            self.buffered = self.buffered[most:]
            return data
        return self.more(most)

    def more(self, most: int) -> bytes:
        """What comes in next; none at the end."""
        if self.allowance <= 0:
            raise BrokenConnectionError("sends a head, or what frames a body, without end")
        self._most = most
        data = interruptible(self._receive, time_left(self.wait, TooSlowError), TimeoutError)
        self.allowance -= len(data)
        return data

    def _receive(self, wait: float | None) -> bytes:
        self._wait_at_most(wait)
        return self._sock.recv(self._most)

    def send(self, data: bytes) -> None:
        """All of it."""
        left = data

        def send(part: float | None) -> int:
            self._wait_at_most(part)
            return self._sock.send(left)

        while left:
            left = left[interruptible(send, time_left(self.wait, TooSlowError), TimeoutError) :]

    def _wait_at_most(self, seconds: float | None) -> None:
        if seconds != self._timeout:  # each change is a call of the system
            self._timeout = seconds
            self._sock.settimeout(seconds)

    def has_more(self) -> bool:
        """Whether bytes are there that nobody has requested, or the other side has hung up."""
        return bool(self.buffered) or _is_readable(self._sock)

    def end(self) -> None:
        """Close the connection."""
        self._sock.close()


def _is_readable(sock: socket.socket) -> bool:
    """Whether a read would not wait."""
    pending = getattr(sock, "pending", None)  # of an encrypted one
    if pending is not None and pending():
        return True
    if sys.platform == "win32":  # where any number of a socket will do
        return bool(select.select([sock], [], [], 0)[0])
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


class Reply:
    """An answer whose head is there; what it has in common with one of the HTTP library is named
    as there. ``headers`` have names in small letters, and what came twice joined by commas.

    ``on_done`` is called once, at the end, with whether the connection can be used again.
    """

    extensions: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, stream: Stream, url: str, on_done: Callable[[bool], None]) -> None:
        self.url = url
        self._stream = stream
        self._on_done: Callable[[bool], None] | None = on_done
        self.status_code = 0
        self.headers: dict[str, str] = {}
        self._chunked = False
        self._length: int | None = None
        self._stays = self._is_complete = False

    def begin(self) -> None:
        """Read its head. Raises BrokenConnectionError for one that is framed doubtfully."""
        status = minor = 0
        fields: list[tuple[str, str]] = []
        while status < 200:
            minor, status, fields = _parsed(self._head())
            if status == 101:
                raise BrokenConnectionError("switches to another protocol")
        self.status_code = status
        self._take(fields, is_new=minor == 1)
        if self._length == 0:
            self._is_complete = True

    def _head(self) -> bytes:
        """The bytes of the next head, with the empty line at its end."""
        stream = self._stream
        data = stream.buffered
        searched = 0
        while (end := _HEAD_END.search(data, max(searched - 2, 0))) is None:
            searched = len(data)
            more = stream.more(_BUFFER)
            if not more:
                what = "hangs up in its head" if data else "hangs up without an answer"
                raise BrokenConnectionError(what)
            data = data + more if data else more
            stream.buffered = data
        stream.buffered = data[end.end() :]
        return data[: end.end()]

    def _take(self, fields: list[tuple[str, str]], *, is_new: bool) -> None:
        """Its headers, how the body ends, and the connection."""
        values: dict[str, list[str]] = {}
        for name, value in fields:
            values.setdefault(name, []).append(value)
        for name in ("content-length", "transfer-encoding"):
            several = values.get(name, [])
            if len(set(several)) > 1:
                raise BrokenConnectionError("frames its body in two ways")
            del several[1:]
        headers = self.headers = {name: ", ".join(texts) for name, texts in values.items()}
        coding = headers.get("transfer-encoding")
        length = headers.get("content-length")
        if coding is not None and coding.lower() != "chunked":
            raise BrokenConnectionError("sends its body in a way that is not known")
        self._chunked = coding is not None
        if length is not None and not self._chunked:
            if not (length.isascii() and length.isdigit()) or len(length) > 18:
                raise BrokenConnectionError("sends an invalid Content-Length")
            self._length = int(length)
        if self.status_code in (204, 304):
            self._length = 0
            self._chunked = False
        connection = headers.get("connection", "").lower()
        stays = "close" not in connection if is_new else "keep-alive" in connection
        self._stays = stays and (self._length is not None or self._chunked)

    def iter_raw(self) -> Iterator[bytes]:
        """Its body as it comes in. Raises BrokenConnectionError where it is cut."""
        try:
            if self._chunked:
                yield from self._chunks()
            elif self._length is None:
                while piece := self._piece(PIECE_BYTES):
                    yield piece
            else:
                yield from self._exactly(self._length)
        except TimeoutError as error:
            raise TooSlowError(str(error)) from error
        except OSError as error:
            raise BrokenConnectionError(str(error)) from error
        self._is_complete = True

    def _piece(self, most: int) -> bytes:
        self._stream.allowance = PIECE_BYTES + MAX_FRAME_BYTES
        return self._stream.received(min(most, PIECE_BYTES))

    def _exactly(self, count: int) -> Iterator[bytes]:
        left = count
        while left:
            piece = self._piece(left)
            if not piece:
                raise BrokenConnectionError(f"ends {left:,} bytes too early")
            left -= len(piece)
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        while True:
            self._stream.allowance = PIECE_BYTES + MAX_FRAME_BYTES
            size = _CHUNK.fullmatch(self._line())
            if size is None:
                raise BrokenConnectionError("sends an invalid chunk size")
            count = int(size[1], 16)
            if not count:
                break
            yield from self._exactly(count)
            self._stream.allowance = PIECE_BYTES + MAX_FRAME_BYTES
            if self._line() not in (b"\r\n", b"\n"):
                raise BrokenConnectionError("sends a chunk of another size than it says")
        while self._line() not in (b"\r\n", b"\n"):
            pass  # trailers, which nobody needs

    def _line(self) -> bytes:
        stream = self._stream
        data = stream.buffered
        searched = 0
        while (end := data.find(b"\n", searched)) < 0:
            searched = len(data)
            more = stream.more(_BUFFER)
            if not more:
                raise BrokenConnectionError("ends within its body")
            data = stream.buffered = data + more
        stream.buffered = data[end + 1 :]
        return data[: end + 1]

    def close(self) -> None:
        """It is not read any further."""
        on_done = self._on_done
        self._on_done = None
        if on_done is not None:
            on_done(self._is_complete and self._stays)


def _parsed(head: bytes) -> tuple[int, int, list[tuple[str, str]]]:
    """The minor version, the status, and the headers, their names in small letters."""
    text = _decoded(head)
    status = _STATUS_LINE.match(text)
    if status is None:
        raise BrokenConnectionError("sends something that is no head")
    fields: list[tuple[str, list[str]]] = []
    at = status.end()
    while not text.startswith(("\r\n", "\n"), at):
        field = _FIELD.match(text, at)
        if field is not None:
            fields.append((field[1].lower(), [field[2].strip(" \t")]))
        elif fields and (field := _CONTINUED.match(text, at)) is not None:
            fields[-1][1].append(field[1].strip(" \t"))
        else:
            raise BrokenConnectionError("sends something that is no header")
        at = field.end()
    return int(status[1]), int(status[2]), [(name, " ".join(lines)) for name, lines in fields]


def _decoded(head: bytes) -> str:
    """Text, in UTF-8 if it is that, as the HTTP library has it."""
    try:
        return head.decode()
    except UnicodeDecodeError:
        return head.decode("latin-1")


class Connection:
    """A connection to ``origin``, opened by ``open``. ``kept_since`` is when it became idle."""

    def __init__(self, origin: HttpOrigin) -> None:
        self.origin = origin
        self.kept_since = 0.0
        self._stream: Stream | None = None

    def open(self, wait: float | None, tls: Callable[[], ssl.SSLContext]) -> None:
        """Look up the name, connect and agree on encryption, each within ``wait`` seconds."""
        # A text would need a codec of names, which takes a millisecond to import.
        place: Any = (self.origin.host.encode("ascii"), self.origin.port)
        sock = _in_time(lambda left: socket.create_connection(place, left), wait)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.origin.scheme == "https":
                sock = _in_time(lambda left: self._encrypted(sock, tls(), left), wait)
        except BaseException:
            sock.close()
            raise
        self.use(sock)

    def use(self, sock: socket.socket) -> None:
        """Talk over a socket that is connected."""
        self._stream = Stream(sock)

    def _encrypted(
        self, sock: socket.socket, tls: ssl.SSLContext, wait: float | None
    ) -> socket.socket:
        sock.settimeout(wait)
        return tls.wrap_socket(sock, server_hostname=self.origin.host)

    @property
    def stream(self) -> Stream:
        """What ``open`` has opened."""
        assert self._stream is not None
        return self._stream

    def exchange(
        self,
        target: RequestTarget,
        headers: Mapping[str, str],
        wait: float | None,
        on_done: Callable[[bool], None],
    ) -> Reply:
        """Send a GET request; the answer, its body not yet read. ``on_done`` as of ``Reply``."""
        stream = self.stream
        request = _request_bytes(target, headers)
        stream.wait = wait
        stream.allowance = MAX_HEAD_BYTES
        stream.send(request)
        reply = Reply(stream, target.url, on_done)
        reply.begin()
        return reply

    @property
    def heard(self) -> bool:
        """Whether anything has come in since the last request was sent."""
        return self.stream.allowance < MAX_HEAD_BYTES

    def is_of_use(self, seconds: float) -> bool:
        """Whether it was idle for less than so many seconds, and the other side said nothing."""
        return time.monotonic() - self.kept_since < seconds and not self.stream.has_more()

    def end(self) -> None:
        """Close it."""
        if self._stream is not None:
            self._stream.end()


def _request_bytes(target: RequestTarget, headers: Mapping[str, str]) -> bytes:
    """A request. Raises UnsendableError where a header would be more than one."""
    lines = [f"GET {target.path} HTTP/1.1", f"Host: {target.host}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if target.login is not None:
        lines.append(f"authorization: {target.login}")
    if " " in target.path or any(map(_ODD.search, lines)):
        raise UnsendableError("a header holds what none can hold")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _in_time(step: Callable[[float | None], socket.socket], wait: float | None) -> socket.socket:
    """What a step returns that gets the seconds left. It runs in another thread, for neither
    the look-up of a name nor a handshake hears Ctrl-C."""
    left = time_left(wait, TooSlowError)
    if left is None:
        return step(None)
    return elsewhere(lambda: step(left), left, TooSlowError)
