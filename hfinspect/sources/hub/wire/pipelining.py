"""Many requests in flight to one place."""

import os
import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...descriptors import at_once
from ...waiting import interruptible
from .http import IN_FLIGHT, HttpSession, Times, own_session, users_session


class SessionPool:
    """``IN_FLIGHT`` requests at once, or as many as there may be open files; who comes later waits.
    Safe to use from several threads."""

    def __init__(self) -> None:
        self._most = at_once(IN_FLIGHT)
        self._slots: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(self._most):
            self._slots.put(None)
        self._lock = threading.Lock()
        self._own: list[HttpSession | None] = []  # one, or None where the user has set another
        self._pid = 0

    @contextmanager
    def sent(self, url: str, headers: Mapping[str, str], times: Times) -> Iterator[Any]:
        """The answer to a GET request, its body not yet read."""
        interruptible(lambda wait: self._slots.get(timeout=wait), None, queue.Empty)
        try:
            with self._session(url).sent(url, headers, times) as response:
                yield response
        finally:
            self._slots.put(None)

    def prepare(self, url: str) -> None:
        """Make the session of a first request to an address."""
        self._session(url)

    def _session(self, url: str) -> HttpSession:
        """Our own session; where the user has set one for huggingface_hub, that."""
        with self._lock:
            if self._pid != os.getpid():  # after a fork the sockets are the parent's
                self._pid = os.getpid()
                self._own = []
            if not self._own:
                self._own = [own_session(self._most, secure=url.startswith("https:"))]
            session = self._own[0]
        return session or users_session()  # which the user may set anew at any time

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        with self._lock:
            sessions = self._own
            self._own = []
        if self._pid == os.getpid():
            for session in sessions:
                if session is not None:
                    session.close()
