"""Waits in slices so short that Ctrl-C and the cancelling of a deadline come at once.

Python raises KeyboardInterrupt when its main thread comes back from a wait. A signal ends most
waits, but not one that begins just after the signal has come, and none at all where the system
hands the signal to another thread of the process. Such a wait lasts to its end: half a minute where
a server stalls. So the main thread waits again and again for a short time. No other thread is
interrupted; it waits in slices where what it waits for may be cancelled, else in one go.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunningError
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

#: Seconds of one wait: so late at most an interrupt is noticed; twenty waits a second cost nothing.
SLICE: Final = 0.05
#: The same of other threads, of which there are dozens: so late at most a cancelling is noticed.
LONG_SLICE: Final = 0.2


class _Current(threading.local):
    """Whether nobody waits any more for what this thread does; None where nobody can say so."""

    cancelled: Callable[[], bool] | None = None


_current = _Current()


@contextmanager
def cancellable(cancelled: Callable[[], bool]) -> Iterator[None]:
    """Waits of this thread end early once ``cancelled()`` is true."""
    before = _current.cancelled
    _current.cancelled = cancelled
    try:
        yield
    finally:
        _current.cancelled = before


def interruptible(
    wait: Callable[[float | None], T],
    seconds: float | None,
    over: type[BaseException] | tuple[type[BaseException], ...],
) -> T:
    """``wait(seconds)``, in slices where it may have to end early. ``over`` is what it raises where
    its time is over, and is raised once all of it is, or nobody waits any more; ``seconds`` is None
    for a wait without end."""
    main = threading.current_thread() is threading.main_thread()
    cancelled = _current.cancelled
    if not main and cancelled is None:
        return wait(seconds)
    slice_ = SLICE if main else LONG_SLICE
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        left = slice_ if end is None else end - time.monotonic()
        try:
            return wait(max(min(left, slice_), 0.001))
        except over:
            if (end is not None and time.monotonic() >= end) or (cancelled and cancelled()):
                raise


def sleep(seconds: float) -> None:
    """``time.sleep``, which Ctrl-C and cancelling end at once."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if _current.cancelled is not None and _current.cancelled():
            return
        time.sleep(min(left, SLICE))


def result_of(future: Future[T], seconds: float | None = None) -> T:
    """A future's result. Raises what it raises, and its TimeoutError after ``seconds``."""

    def wait(slice_: float | None) -> bool:
        future.exception(slice_)
        return True

    try:
        interruptible(wait, seconds, StillRunningError)
    except StillRunningError:
        if not future.done():
            raise
    return future.result(0)
