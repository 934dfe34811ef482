"""The server: HTTP on 127.0.0.1, the page's files, and a few questions in JSON.

Every size and every wait has a bound: connections at once, a request's head and body, the time that
it may take to arrive. Nothing in a request is a path of this disk: the page's files are in memory,
and what a question names is opened by ``sources``, below the folders that were named alone.
"""

import http.server
import io
import json
import os
import socket
import socketserver
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from ..._version import __version__
from ...errors import HfinspectError, RateLimitedError, UnreadableError
from ...sources.deadline import Deadline
from ...sources.waiting import cancellable
from ..answering import MAX_QUESTION, Reach, answer, error_answer
from ..assemble import served_files
from .dropped import Drops
from .gate import Gate
from .shelf import shelf

#: Questions that may wait for their turn: the tabs of one person.
MAX_WAITING: Final = 8


class RequestQueue:
    """One question at a time, each of which may be cancelled. Safe to use from several threads."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._deadlines: dict[str, Deadline] = {}

    def run(self, name: str, answered: Callable[[Deadline], str]) -> str:
        """What ``answered`` returns, once it is its turn. Its time begins then.

        Raises RateLimitedError where too many wait, and CancelledError where it was cancelled.
        """
        waiting = Deadline()
        with self._lock:
            if len(self._deadlines) > MAX_WAITING or name in self._deadlines:
                raise RateLimitedError(
                    "the server", "has too many questions to answer", hint="close some tabs"
                )
            self._deadlines[name] = waiting
        try:
            while not self._turn.acquire(timeout=0.1):
                if waiting.left() <= 0:
                    raise waiting.error("the question")
            try:
                deadline = self._started(name, waiting)
                with cancellable(lambda: deadline.cancelled):
                    return answered(deadline)
            finally:
                self._turn.release()
        finally:
            with self._lock:
                del self._deadlines[name]

    def _started(self, name: str, waiting: Deadline) -> Deadline:
        with self._lock:
            if waiting.cancelled:
                raise waiting.error("the question")
            self._deadlines[name] = Deadline()
            return self._deadlines[name]

    def cancel(self, name: str) -> None:
        """Nobody waits for this answer any more."""
        with self._lock:
            if name in self._deadlines:
                self._deadlines[name].cancel()


#: Connections at once: a browser opens six.
MAX_CONNECTIONS: Final = 24
#: Seconds in which a request must have arrived, and an answer have been taken.
PATIENCE: Final = 15.0
#: Characters of the name that a page gives to a question.
_MAX_NAME: Final = 64
#: Of every answer.
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
#: Ending of one of the page's files -> its type.
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
}


class Served(http.server.ThreadingHTTPServer):
    """A server that listens from now on; ``paths`` are the folders and files that it may read."""

    request_queue_size = MAX_CONNECTIONS
    #: On Windows another program could share the port then.
    allow_reuse_address = os.name != "nt"
    allow_reuse_port = False

    def __init__(self, paths: Sequence[Path], reach: Reach, port: int = 0) -> None:
        """``port`` 0 is a free one. Raises UnreadableError where nothing can listen there."""
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise UnreadableError(
                f"port {port}",
                f"cannot be used: {error.strerror}",
                hint="another program may use it; without a port, serve chooses a free one",
            ) from None
        self.gate = Gate(self.server_port)
        self.paths = tuple(paths)
        self.reach = reach
        self.requests = RequestQueue()
        self.drops = Drops()
        self.files = served_files()
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)

    @property
    def address(self) -> str:
        """What a browser opens; the token is behind the ``#``, which no request carries."""
        return f"http://127.0.0.1:{self.server_port}/#token={self.gate.token}"

    def server_bind(self) -> None:
        """Without the question to a name server what this host is called."""
        socketserver.TCPServer.server_bind(self)
        self.server_name = "127.0.0.1"
        self.server_port = self.server_address[1]

    def verify_request(self, *_: Any) -> bool:
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off is no news."""


class _InTime(io.RawIOBase):
    """What a connection sends until ``until``; TimeoutError after it."""

    def __init__(self, connection: socket.socket, until: float) -> None:
        self._connection = connection
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Refused(Exception):  # noqa: N818 - an answer like others
    """A request that gets a status and a sentence."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(status, why)
        self.status = status
        self.why = why


class _Handler(http.server.BaseHTTPRequestHandler):
    """One request of one connection."""

    server: Served
    server_version = f"hfinspect/{__version__}"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_InTime(self.connection, time.monotonic() + PATIENCE))

    def handle_one_request(self) -> None:
        with suppress(ConnectionError, TimeoutError):
            super().handle_one_request()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in the base class
        """Nothing: who asks is the user."""

    def do_GET(self) -> None:
        self._answer_with(self._page)

    def do_HEAD(self) -> None:
        self._answer_with(self._page)

    def do_POST(self) -> None:
        self._answer_with(self._question)

    def _answer_with(self, content_of: Callable[[], tuple[bytes, str]]) -> None:
        try:
            self._send(200, *content_of())
        except _Refused as refused:
            self._fail(refused.status, refused.why)

    def _page(self) -> tuple[bytes, str]:
        self._check(asks=False)
        path = self.path.partition("?")[0]
        name = "index.html" if path == "/" else path[1:]
        content = self.server.files.get(name)
        if content is None:
            raise _Refused(404, "there is no such page")
        return content, _TYPES[name[name.rindex(".") :]]

    def _question(self) -> tuple[bytes, str]:
        self._check(asks=True)
        path, _, name = self.path.partition("?")
        answer_of = _QUESTIONS.get(path)
        if answer_of is None:
            raise _Refused(404, "there is no such question")
        body = self._body()
        try:
            content = answer_of(self.server, name[:_MAX_NAME], body)
        except HfinspectError as error:
            content = error_answer(error)
        except Exception as error:  # the outermost place of a thread: the page must hear of it
            traceback.print_exc()
            content = {"error": f"a bug of hfinspect: {error!r}", "hint": "please report it"}
        return json.dumps(content).encode(), _TYPES[".json"]

    def _check(self, *, asks: bool) -> None:
        if self.server.gate.is_stranger(self.client_address[1]):
            raise _Refused(403, "this server belongs to another user of this machine")
        headers = {name.lower(): value for name, value in self.headers.items()}
        refusal = self.server.gate.refusal(headers, asks=asks)
        if refusal is not None:
            raise _Refused(*refusal)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()) or "Transfer-Encoding" in self.headers:
            raise _Refused(411, "the length of the question is missing")
        if len(length) > 12 or int(length) > MAX_QUESTION:
            raise _Refused(413, f"the question has more than {MAX_QUESTION:,} bytes")
        try:
            data = self.rfile.read(int(length))
        except TimeoutError:
            raise _Refused(408, "the question came too slowly") from None
        if len(data) < int(length):
            raise _Refused(400, "the question ends early")
        return data

    def send_error(self, code: int, *_: Any) -> None:
        """What the base class refuses: malformed requests, and methods that there are none of."""
        self._fail(code, HTTPStatus(code).phrase.lower())

    def _fail(self, status: int, why: str) -> None:
        content = json.dumps({"error": why, "hint": "open the address that hfinspect serve shows"})
        self._send(status, content.encode(), _TYPES[".json"])

    def _send(self, status: int, content: bytes, content_type: str) -> None:
        self.connection.settimeout(PATIENCE)
        self.close_connection = True
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if content_type.startswith("text/html"):
            self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _answer(server: Served, name: str, body: bytes) -> Any:
    def answered(deadline: Deadline) -> str:
        return answer(body.decode("utf-8", "replace"), server.reach._replace(timeout=deadline))

    try:
        return json.loads(server.requests.run(name, answered))
    finally:
        server.drops.answered()


def _cancel(server: Served, name: str, _body: bytes) -> Any:
    server.requests.cancel(name)
    return {}


def _drop(server: Served, _name: str, body: bytes) -> Any:
    return {"place": server.drops.add(body)}


def _part(server: Served, name: str, body: bytes) -> Any:
    return server.drops.next_part(name, body)


def _shelf(server: Served, _name: str, _body: bytes) -> Any:
    return [item._asdict() for item in shelf(server.paths)]


_QUESTIONS: Final[Mapping[str, Callable[[Served, str, bytes], Any]]] = {
    "/answer": _answer,
    "/cancel": _cancel,
    "/shelf": _shelf,
    "/drop": _drop,
    "/part": _part,
}
