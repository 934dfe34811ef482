"""When to ask again: bounded retries, and one limiter shared by everything that asks the Hub."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import NamedTuple

from ...core.records import dataclass
from ..waiting import sleep

#: ``RateLimit: "api";r=0;t=55``: nothing remains, the window ends in 55 seconds
#: (draft-ietf-httpapi-ratelimit-headers; the Hub sends it with every answer).
_RATE_LIMIT = re.compile(r'"[\w-]+"\s*;\s*r\s*=\s*(\d{1,9})\s*;\s*t\s*=\s*(\d{1,9})')


#: ``RateLimit-Policy: "fixed window";"api";q=500;w=300``: 500 requests in 300 seconds.
_POLICY = re.compile(r'"[\w-]+"\s*;\s*q\s*=\s*(\d{1,9})\s*;\s*w\s*=\s*(\d{1,9})')


class QuotaUse(NamedTuple):
    """How much of one quota is used up. Seconds are from now; None where the server named nothing.

    ``used`` requests were answered in all; ``allowed`` are those of a window of ``window`` seconds,
    of which ``remaining`` are left for another ``seconds``. ``blocked`` seconds nobody may ask.
    """

    name: str
    used: int
    blocked: float
    allowed: int | None = None
    window: float | None = None
    remaining: int | None = None
    seconds: float = 0.0


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
    _used: dict[str, int] = field(default_factory=dict)
    _policies: dict[str, tuple[int, float]] = field(default_factory=dict)
    _left: dict[str, tuple[int, float]] = field(default_factory=dict)  # requests, end of the window
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
        self.learn(quota, headers)
        with self._lock:
            self._used[quota] = self._used.get(quota, 0) + 1
        if remaining == 0 and 0 < seconds <= self.policy.max_wait:
            self.block(quota, seconds)

    def learn(self, quota: str, headers: Mapping[str, str]) -> None:
        """Remember what an answer says of its quota: how large it is, and what is left of it."""
        remaining, seconds = rate_limit(headers)
        policy = _POLICY.search(headers.get("ratelimit-policy", ""))
        with self._lock:
            if remaining is not None:
                self._left[quota] = (remaining, self.clock() + seconds)
            if policy is not None and int(policy[1]) and int(policy[2]):
                self._policies[quota] = (int(policy[1]), float(policy[2]))

    def quotas(self) -> list[QuotaUse]:
        """Each quota that was used, or that nobody may use now."""
        now = self.clock()
        with self._lock:
            names = sorted({*self._used, *self._blocked_until})
            return [self._use(name, now) for name in names]

    def _use(self, name: str, now: float) -> QuotaUse:
        allowed, window = self._policies.get(name, (None, None))
        remaining, end = self._left.get(name, (None, now))
        if end <= now:  # a new window has begun
            remaining = allowed
        return QuotaUse(
            name,
            self._used.get(name, 0),
            max(self._blocked_until.get(name, 0.0) - now, 0.0),
            allowed,
            window,
            remaining,
            max(end - now, 0.0),
        )

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
