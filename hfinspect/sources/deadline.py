"""How long one model may take in all."""

from __future__ import annotations

import time
from typing import Final, TypeAlias

from ..errors import CancelledError, RequestTimeoutError, UsageError

#: Seconds that one model may take where nothing else is said: a thousand shards at 0.5 MB/s, or six
#: times what the slowest real model has taken. Only a server that drips comes near.
DEFAULT_TIMEOUT: Final = 600.0

#: A day: who waits longer for one answer does not wait for an answer.
MAX_TIMEOUT: Final = 86_400.0

#: Seconds that a server may add in all by asking us to wait (429): three of the Hub's windows.
MAX_GRANTED: Final = 900.0


class Deadline:
    """The moment when one model must be done. Safe to share between threads.

    The time for which a server asks us to wait is granted in addition, up to ``MAX_GRANTED``.
    """

    def __init__(self, seconds: float | None = None) -> None:
        """``seconds`` from now; ``DEFAULT_TIMEOUT`` for None. Raises UsageError."""
        self.seconds = DEFAULT_TIMEOUT if seconds is None else checked_timeout(seconds)
        self._until = time.monotonic() + self.seconds
        self._granted = 0.0
        self.cancelled = False

    @classmethod
    def never(cls) -> Deadline:
        """No moment at all: what reads every byte of a model may take days."""
        deadline = cls()
        deadline.seconds = deadline._until = float("inf")
        return deadline

    @classmethod
    def of(cls, timeout: Timeout) -> Deadline:
        """A deadline as it is, or a new one that many seconds from now."""
        return timeout if isinstance(timeout, Deadline) else cls(timeout)

    def left(self) -> float:
        """Seconds, negative once it has passed."""
        return self._until - time.monotonic()

    def grant(self, seconds: float) -> None:
        """Some seconds more, which the server has asked us to wait."""
        more = max(0.0, min(seconds, MAX_GRANTED - self._granted))
        self._granted += more
        self._until += more

    def cancel(self) -> None:
        """Nobody waits for the result any more: whoever still works on it stops within a quarter of
        a second, with CancelledError. To be called from any thread, once or more."""
        self.cancelled = True
        self._until = float("-inf")

    def error(
        self, subject: str, where: str | None = None, *, waiting_for: str | None = None
    ) -> CancelledError | RequestTimeoutError:
        """What is said when it has passed, or was cancelled; ``waiting_for`` is a server."""
        if self.cancelled:
            return CancelledError(subject, "was cancelled", where=where)
        return RequestTimeoutError(
            subject,
            f"did not finish within {self.seconds:g} seconds"
            + (f", the last of them waiting for {waiting_for}" if waiting_for else ""),
            where=where,
            hint="try again later, or with a longer timeout",
        )


Timeout: TypeAlias = float | Deadline | None


def checked_timeout(seconds: float) -> float:
    """Raises UsageError for a time that nobody can wait."""
    if not 0 < seconds <= MAX_TIMEOUT:
        raise UsageError(
            f"a timeout of {seconds:g} seconds",
            "is impossible",
            expected=f"more than 0 and at most {MAX_TIMEOUT:,.0f}",
            hint="check the timeout and HF_HUB_DOWNLOAD_TIMEOUT",
        )
    return seconds
