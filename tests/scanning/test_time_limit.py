"""One target takes no longer than its time, even where what holds it up knows no time."""

from __future__ import annotations

import threading
import time

import pytest

from hfinspect.errors import RequestTimeoutError
from hfinspect.scanning import time_limit
from hfinspect.sources.deadline import Deadline


def test_what_never_ends_is_left_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a disk that is gone. After five seconds the test would end it."""
    monkeypatch.setattr(time_limit, "GRACE", 0.2)
    gone = threading.Event()
    threading.Timer(5, gone.set).start()
    begun = time.monotonic()
    with pytest.raises(RequestTimeoutError, match=r"did not finish within 0\.1 seconds"):
        time_limit.within(Deadline(0.1), gone.wait, "a")
    assert time.monotonic() - begun < 3
    gone.set()


def test_time_that_is_granted_meanwhile_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "GRACE", 0.05)
    deadline = Deadline(0.05)
    gone = threading.Event()
    threading.Timer(0.02, lambda: deadline.grant(3)).start()
    assert time_limit.within(deadline, lambda: gone.wait(0.4), "a") is False


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        time_limit.within(Deadline(5), lambda: 1 // 0, "a")
