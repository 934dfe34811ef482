"""Connections whose reads end in time, however slowly the other side drips.

The HTTP library's timeout is for each read, so a server that sends one byte of a header every few
seconds would hold a request for ever. Here every read also ends when the time of the whole request
has passed.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ...threads import start
from ...waiting import interruptible

T = TypeVar("T")


class _Limit(threading.local):
    """When the request of this thread must have ended, by ``time.monotonic``."""

    until = float("inf")


_limit = _Limit()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Reads and writes of this thread end within so many seconds, all together."""
    before = _limit.until
    _limit.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _limit.until = before


def bound_client(client: Any) -> None:
    """Make the connections of an HTTP client heed ``limited``.

    The library has no public place for that; where a later version keeps its parts elsewhere, its
    own timeouts remain.
    """
    transports = [getattr(client, "_transport", None), *getattr(client, "_mounts", {}).values()]
    for transport in transports:
        pool = getattr(transport, "_pool", None)
        inner = getattr(pool, "_network_backend", None)
        if inner is not None and not isinstance(inner, _Backend):
            pool._network_backend = _Backend(inner)  # type: ignore[union-attr]


def time_left(timeout: float | None, over: type[Exception]) -> float | None:
    """The time for one wait. Raises ``over`` once there is none."""
    until = _limit.until
    if until == float("inf"):
        return timeout
    left = until - time.monotonic()
    if left <= 0:
        raise over("the time of the request has passed")
    return left if timeout is None else min(timeout, left)


def elsewhere(connect: Callable[[], T], seconds: float, over: type[Exception]) -> T:
    """What ``connect`` returns within so many seconds, else ``over`` is raised. It runs in a thread
    that nobody waits for longer, so that neither a wait without end nor one that hears no Ctrl-C
    holds up this one."""
    answers: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            answers.put((connect(), None))
        except BaseException as error:
            answers.put((None, error))

    start(run)
    try:
        stream, error = interruptible(lambda wait: answers.get(timeout=wait), seconds + 0.1, Empty)
    except Empty:
        raise over("no connection in time") from None
    if error is not None:
        raise error
    return stream  # type: ignore[return-value]


class _Backend:
    """The HTTP library's way to open connections, each of them bounded."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._library = sys.modules[type(inner).__module__.partition(".")[0]]

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **more: Any) -> Any:
        # Looking up a name knows no timeout.
        return _connected(
            lambda wait: self._inner.connect_tcp(host, port, timeout=wait, **more),
            timeout,
            self._library,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _BoundedStream:
    """One connection: every wait is cut to what is left of the request's time."""

    def __init__(self, inner: Any, library: Any) -> None:
        self._inner = inner
        self._library = library

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        wait = time_left(timeout, self._library.ReadTimeout)
        over = self._library.ReadTimeout
        data: bytes = interruptible(
            lambda part: self._inner.read(max_bytes, timeout=part), wait, over
        )
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout=time_left(timeout, self._library.WriteTimeout))

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> Any:
        return _connected(
            lambda wait: self._inner.start_tls(ssl_context, server_hostname, wait),
            timeout,
            self._library,
        )

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _connected(
    connect: Callable[[float | None], Any], timeout: float | None, library: Any
) -> _BoundedStream:
    """A connection that is made in what is left of the time, where there is a limit."""
    over = library.ConnectTimeout
    wait = time_left(timeout, over)
    stream = connect(None) if wait is None else elsewhere(lambda: connect(wait), wait, over)
    return _BoundedStream(stream, library)
