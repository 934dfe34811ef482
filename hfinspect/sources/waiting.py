"""Waits of the main thread, in slices so short that Ctrl-C comes at once.

Python raises KeyboardInterrupt when its main thread comes back from a wait. A signal ends most
waits, but not one that begins just after the signal has come, and none at all where the system
hands the signal to another thread of the process. Such a wait lasts to its end: half a minute where
a server stalls. So the main thread waits again and again for a short time; no other thread is
interrupted, and each waits in one go.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunningError
from typing import Final, TypeVar

T = TypeVar("T")

#: Seconds of one wait: so late at most an interrupt is noticed; twenty waits a second cost nothing.
SLICE: Final = 0.05


def patiently(
    wait: Callable[[float | None], T],
    seconds: float | None,
    over: type[BaseException] | tuple[type[BaseException], ...],
) -> T:
    """``wait(seconds)``, in the main thread in slices. ``over`` is what it raises where its time is
    over, and is raised once all of it is; ``seconds`` is None for a wait without end."""
    if threading.current_thread() is not threading.main_thread():
        return wait(seconds)
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        left = SLICE if end is None else end - time.monotonic()
        try:
            return wait(max(min(left, SLICE), 0.001))
        except over:
            if end is not None and time.monotonic() >= end:
                raise


def sleep(seconds: float) -> None:
    """``time.sleep``, which Ctrl-C ends at once."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, SLICE))


def result_of(future: Future[T], seconds: float | None = None) -> T:
    """A future's result. Raises what it raises, and its TimeoutError after ``seconds``."""

    def wait(slice_: float | None) -> bool:
        future.exception(slice_)
        return True

    try:
        patiently(wait, seconds, StillRunningError)
    except StillRunningError:
        if not future.done():
            raise
    return future.result(0)
