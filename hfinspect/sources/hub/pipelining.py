"""Many requests in flight to one place, at little cost each.

The HTTP library's pool looks at all its connections for every request, so a few small pools cost
far less than one large one. Its sessions also prepare, with every redirect, the request that would
follow it; ours see no redirect.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..descriptors import at_once
from ..waiting import patiently
from .http import IN_FLIGHT, Session, Times, own_session, users_session

#: Connections in one pool.
_IN_POOL = 4


class Pipeline:
    """``IN_FLIGHT`` requests at once, or as many as there may be open files; who comes later waits.
    Safe to use from several threads."""

    def __init__(self) -> None:
        # Last in, first out: few requests use few connections.
        self._slots: queue.LifoQueue[int] = queue.LifoQueue()
        for slot in reversed(range(at_once(IN_FLIGHT))):
            self._slots.put(slot)
        self._lock = threading.Lock()
        self._sessions: dict[int, Session | None] = {}
        self._pid = 0

    @contextmanager
    def sent(self, url: str, headers: Mapping[str, str], times: Times) -> Iterator[Any]:
        """The answer to a GET request, its body not yet read."""
        slot = patiently(lambda wait: self._slots.get(timeout=wait), None, queue.Empty)
        try:
            with self._session(slot // _IN_POOL, url).sent(url, headers, times) as response:
                yield response
        finally:
            self._slots.put(slot)

    def prepare(self, url: str) -> None:
        """Make the session of a first request to an address."""
        self._session(0, url)

    def _session(self, pool: int, url: str) -> Session:
        """One of our own sessions; where the user has set one for huggingface_hub, that."""
        with self._lock:
            if self._pid != os.getpid():  # after a fork the sockets are the parent's
                self._pid = os.getpid()
                self._sessions = {}
            if pool not in self._sessions:
                self._sessions[pool] = own_session(_IN_POOL, secure=url.startswith("https:"))
            session = self._sessions[pool]
        return session or users_session()  # which the user may set anew at any time

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        if self._pid == os.getpid():
            for session in sessions.values():
                if session is not None:
                    session.close()
