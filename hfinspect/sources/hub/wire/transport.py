"""Connections to a Hub and its storage host, kept and used again: few steps a request.

The HTTP library's own way costs a millisecond a request, and its import a third of the start of a
small command. This one knows what a Hub and its storage host need: GET by HTTP/1.1, with encryption
or without. Whatever else there is (a proxy, a session that the user has set, requests that are to
be logged) is left to the library.

HTTP/2 would do with fewer connections, but to frame and unframe a request in Python takes longer
(0.27 ms with h2) than all of a request does here (0.19 ms, the sockets' calls included).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from .connection import (
    BrokenConnectionError,
    Connection,
    HttpOrigin,
    NoConnectionError,
    Reply,
    RequestTarget,
    TooSlowError,
)

if TYPE_CHECKING:
    import ssl

#: An idle connection is closed after so many seconds, before most servers do.
KEPT_SECONDS: Final = 5.0


class Transport:
    """At most ``connections`` at once, in use or idle; more are only opened where more are in use.
    ``tls`` makes the context of those that are encrypted. Safe to use from several threads.
    """

    def __init__(self, connections: int, tls: Callable[[], ssl.SSLContext]) -> None:
        self._connections = connections
        self._tls = tls
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._busy = 0
        self._closed = False

    def sent(
        self,
        origin: HttpOrigin,
        target: RequestTarget,
        headers: Mapping[str, str],
        wait: float | None,
    ) -> Reply:
        """The answer to a GET request, its body not yet read; each wait lasts at most ``wait``
        seconds. Raises WireErrors."""
        connection = self._taken(origin)
        try:
            if connection is not None:
                reply = self._exchanged(connection, target, headers, wait)
                if reply is not None:
                    return reply
            fresh = self._opened(origin, wait)
            reply = self._exchanged(fresh, target, headers, wait, is_fresh=True)
            assert reply is not None
        except BaseException:
            self._released(None)
            raise
        return reply

    def _taken(self, origin: HttpOrigin) -> Connection | None:
        """An idle connection that leads there; None where a new one must be opened."""
        with self._lock:
            self._busy += 1
            for at in reversed(range(len(self._idle))):
                if self._idle[at].origin == origin:
                    connection = self._idle.pop(at)
                    if connection.is_of_use(KEPT_SECONDS):
                        return connection
                    connection.end()
            while self._idle and len(self._idle) + self._busy > self._connections:
                self._idle.pop(0).end()
        return None

    def _opened(self, origin: HttpOrigin, wait: float | None) -> Connection:
        connection = Connection(origin)
        try:
            connection.open(wait, self._tls)
        except TimeoutError as error:
            raise TooSlowError(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise NoConnectionError(str(error)) from error
        return connection

    def _exchanged(
        self,
        connection: Connection,
        target: RequestTarget,
        headers: Mapping[str, str],
        wait: float | None,
        *,
        is_fresh: bool = False,
    ) -> Reply | None:
        """The answer. None where a kept connection turns out to be one that the other side has
        closed meanwhile: nothing came in, and what was requested may be requested again."""
        try:
            return connection.exchange(target, headers, wait, partial(self._on_done, connection))
        except TimeoutError as error:
            connection.end()
            raise TooSlowError(str(error)) from error
        except (OSError, BrokenConnectionError) as error:
            connection.end()
            if not is_fresh and not connection.heard:
                return None
            if isinstance(error, BrokenConnectionError):
                raise
            raise BrokenConnectionError(str(error)) from error
        except BaseException:
            connection.end()
            raise

    def _on_done(self, connection: Connection, again: bool) -> None:
        if not again:
            connection.end()
        self._released(connection if again else None)

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
            idle = self._idle
            self._idle = []
        for connection in idle:
            connection.end()
