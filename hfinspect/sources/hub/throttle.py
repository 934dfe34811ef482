"""When to ask again: bounded retries, and one limiter shared by everything that asks the Hub."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field

from ...core.records import dataclass
from ..waiting import sleep

#: ``RateLimit: "api";r=0;t=55``: nothing remains, the window ends in 55 seconds
#: (draft-ietf-httpapi-ratelimit-headers; the Hub sends it with every answer).
_RATE_LIMIT = re.compile(r'"[\w-]+"\s*;\s*r\s*=\s*(\d{1,9})\s*;\s*t\s*=\s*(\d{1,9})')


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long to try. Times in seconds; ``attempts`` counts the first try too.

    ``max_wait`` bounds what one request may wait in sum because a server said "later". The Hub's
    windows last 300 s: a long scan sets that, a person at a terminal hears of it earlier.
    """

    attempts: int = 5  # for 429, 5xx, resets and cut bodies: a burst of errors lasts a few seconds
    timeout_attempts: int = 3  # each costs a whole timeout, so fewer
    connect_attempts: int = 2  # refused or no such host: rarely mends itself
    base: float = 0.5
    cap: float = 8.0
    max_wait: float = 60.0

    def backoff(self, failures: int) -> float:
        """Seconds before the next try after ``failures`` failures, without jitter."""
        return min(self.cap, self.base * 2.0 ** min(failures - 1, 60))


def _chance() -> float:
    """A number from 0 to 1."""
    import random  # of use only once a server has asked to wait

    return random.random()  # noqa: S311 - no secret


def _no_blocks() -> dict[str, float]:
    return {}


@dataclass()
class Throttle:
    """Holds requests back while a quota of the server is used up.

    Quotas are separate: ``api`` (the model's metadata), ``resolve`` (files) and ``cdn``. Safe to
    share between threads; that is what it is for.
    """

    policy: RetryPolicy = RetryPolicy()
    sleep: Callable[[float], object] = sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = _chance
    _blocked_until: dict[str, float] = field(default_factory=_no_blocks)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, quota: str) -> float:
        """Return when the quota may be used; seconds waited."""
        with self._lock:
            remaining = self._blocked_until.get(quota, 0.0) - self.clock()
        if remaining <= 0:
            return 0.0
        # Threads wake one after the other, not all in the same instant.
        seconds = remaining + self.jitter() * min(1.0, remaining / 4)
        self.sleep(seconds)
        return seconds

    def block(self, quota: str, seconds: float) -> None:
        """Nobody uses the quota for that long."""
        until = self.clock() + seconds
        with self._lock:
            self._blocked_until[quota] = max(until, self._blocked_until.get(quota, 0.0))

    def note(self, quota: str, headers: Mapping[str, str]) -> None:
        """Heed a good answer that says it was the last one in this window.

        Windows longer than ``max_wait`` are not heeded: better to try and be refused.
        """
        remaining, seconds = rate_limit(headers)
        if remaining == 0 and 0 < seconds <= self.policy.max_wait:
            self.block(quota, seconds)

    def back_off(self, failures: int, most: float = float("inf")) -> None:
        """Sleep between two tries: exponential, with full jitter in the upper half."""
        seconds = min(self.policy.backoff(failures), most)
        self.sleep(seconds / 2 + self.jitter() * seconds / 2)


def rate_limit(headers: Mapping[str, str]) -> tuple[int | None, float]:
    """(requests remaining, seconds until the window ends) of a RateLimit header; (None, 0)."""
    match = _RATE_LIMIT.search(headers.get("ratelimit", ""))
    return (int(match[1]), float(match[2])) if match else (None, 0.0)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds an answer 429 or 503 asks to wait; None if it does not say.

    A date in Retry-After is not read: it would need the server's clock.
    """
    remaining, seconds = rate_limit(headers)
    if remaining == 0:
        return seconds + 1  # the header's seconds are rounded down
    value = headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
