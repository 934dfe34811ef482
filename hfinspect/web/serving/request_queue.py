"""One question at a time, each of which may be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from ...errors import RateLimitedError
from ...sources.deadline import Deadline
from ...sources.waiting import cancellable

#: Questions that may wait for their turn: the tabs of one person.
MAX_WAITING: Final = 8


class Turns:
    """Safe to use from several threads."""

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
