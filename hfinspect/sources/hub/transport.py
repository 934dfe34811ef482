"""How our sessions of huggingface_hub's HTTP library reach a server: few steps a request.

The library's own way costs a millisecond a request and a tenth of the start of a small command.
This one knows what a Hub and its storage host need: requests without a body by HTTP/1.1, with
encryption or without, over connections that are kept. Whatever else there is (a proxy, a session
that the user has set) is left to the library.
"""

from __future__ import annotations

import functools
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from typing import Any, Final
from urllib.request import getproxies

from .wire import Connection, Origin, Reply

#: An idle connection is closed after so many seconds, before most servers do.
KEPT_SECONDS: Final = 5.0

_PORTS: Final = {"http": 80, "https": 443}
_WITHOUT_BODY: Final = ("GET", "HEAD")


def proxies_are_set() -> bool:
    """Whether the environment, or the system, names proxies."""
    return not getproxies().keys() <= {"no"}


class Transport:
    """At most ``connections`` at once, in use or idle; more are only opened where more are in use.
    Safe to use from several threads.

    It has the methods of the library's ``BaseTransport`` and raises the library's errors.
    """

    def __init__(self, library: Any, connections: int, tls: ssl.SSLContext) -> None:
        self._library = library
        self._connections = connections
        self._tls = tls
        tls.set_alpn_protocols(["http/1.1"])
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._busy = 0
        self._closed = False

    def handle_request(self, request: Any) -> Any:
        """The answer to a request without a body, its own body not yet read."""
        if request.method not in _WITHOUT_BODY or request.url.scheme not in _PORTS:
            raise self._library.UnsupportedProtocol("only GET and HEAD by http or https")
        url = request.url
        host = url.raw_host.decode("ascii")
        origin = Origin(url.scheme, host, url.port or _PORTS[url.scheme])
        kept = self._taken(origin)
        try:
            if kept is not None:
                answer = self._sent(request, kept)
                if answer is not None:
                    return answer
            fresh = self._opened(origin, request)
            answer = self._sent(request, fresh, is_fresh=True)
        except BaseException:
            self._released(None)
            raise
        return answer

    def _taken(self, origin: Origin) -> Connection | None:
        """An idle connection that leads there; None where a new one must be opened."""
        with self._lock:
            self._busy += 1
            for at in reversed(range(len(self._idle))):
                if self._idle[at].origin == origin:
                    found = self._idle.pop(at)
                    if found.is_of_use(KEPT_SECONDS):
                        return found
                    found.end()
            while self._idle and len(self._idle) + self._busy > self._connections:
                self._idle.pop(0).end()
        return None

    def _opened(self, origin: Origin, request: Any) -> Connection:
        made = Connection(origin, self._tls, self._library)
        try:
            made.open(request.extensions.get("timeout", {}).get("connect"))
        except TimeoutError as error:
            raise self._library.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise self._library.ConnectError(str(error)) from error
        return made

    def _sent(self, request: Any, connection: Connection, *, is_fresh: bool = False) -> Any:
        """The answer. None where a kept connection turns out to be one that the other side has
        closed meanwhile: nothing came in, and what was requested may be requested again."""
        waits = request.extensions.get("timeout", {})
        target = request.url.raw_path.decode("ascii")
        try:
            reply = connection.exchange(request.method, target, request.headers.raw, waits)
        except BaseException as error:
            connection.end()
            if (
                not is_fresh
                and isinstance(error, OSError)
                and not isinstance(error, TimeoutError)
                and not connection.stream.heard
            ):
                return None
            meant = self._meant(error)
            if meant is error:
                raise
            raise meant from error
        return self._library.Response(
            reply.status,
            headers=reply.fields,
            stream=_body_class(self._library)(self, connection, reply),
        )

    def _meant(self, error: BaseException) -> BaseException:
        """The library's error for one of the standard library; others as they are."""
        if isinstance(error, TimeoutError):
            return self._library.ReadTimeout(str(error))  # type: ignore[no-any-return]
        if isinstance(error, HTTPException):  # of which one is an OSError too
            return self._library.RemoteProtocolError(str(error))  # type: ignore[no-any-return]
        if isinstance(error, ValueError):
            return self._library.LocalProtocolError(str(error))  # type: ignore[no-any-return]
        if isinstance(error, OSError):
            return self._library.ReadError(str(error))  # type: ignore[no-any-return]
        return error

    def _released(self, connection: Connection | None) -> None:
        """A request is over. ``connection`` is one that can be used again."""
        with self._lock:
            self._busy -= 1
            if connection is None:
                return
            if self._closed or len(self._idle) + self._busy >= self._connections:
                connection.end()
                return
            connection.kept_since = time.monotonic()
            self._idle.append(connection)

    def close(self) -> None:
        """Close the idle connections; those in use are closed when their answers are."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.end()


class Client:
    """As much of the library's client as our own sessions need: what it knows of cookies, redirects
    and ways to log in costs as much as the transport, and is not for them.

    ``hook`` is huggingface_hub's, which looks at each request.
    """

    def __init__(self, library: Any, transport: Transport, hook: Callable[[Any], object]) -> None:
        self._library = library
        self._transport = transport
        self._hook = hook

    def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        """The answer, whose body is always a stream; a redirect is one too."""
        assert stream and not follow_redirects
        if request.url.userinfo:  # https://me:password@mirror
            login = self._library.BasicAuth(request.url.username, request.url.password)
            request = next(login.sync_auth_flow(request))
        self._hook(request)
        response = self._transport.handle_request(request)
        response.request = request
        return response

    def close(self) -> None:
        self._transport.close()


class _Body:
    """The body of an answer, whose end frees the connection."""

    def __init__(self, transport: Transport, connection: Connection, reply: Reply) -> None:
        self._transport = transport
        self._connection = connection
        self._reply = reply
        self._is_whole = reply.length == 0
        self._is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._reply.pieces()
        except (OSError, HTTPException) as error:
            raise self._transport._meant(error) from error
        self._is_whole = True

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        reply, connection = self._reply, self._connection
        reply.close()
        again = self._is_whole and not reply.will_close
        if not again:
            connection.end()
        self._transport._released(connection if again else None)


@functools.cache
def _body_class(library: Any) -> Any:
    """The same as a stream of the library, which checks that it is one."""
    return type("Body", (_Body, library.SyncByteStream), {})
