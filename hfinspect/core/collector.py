"""Python's collector of cycles, which rests while much is made that has none."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _PauseDepth(threading.local):
    """How many blocks of this thread are open, one in the other."""

    depth = 0


_depth = _PauseDepth()
_lock = threading.Lock()
#: Threads that have a block open, and whether the collector was on before the first of them.
_threads = 0
_was_enabled = True


@contextmanager
def collector_paused() -> Iterator[None]:
    """The cyclic garbage collector off for the length of a block.

    Decoding makes hundreds of thousands of objects and no cycles; the collector's passes over them
    cost as much as the decoding. Blocks of other threads may switch it on early, or it would never
    be on where many threads read; all of them together never leave it off.
    """
    _depth.depth += 1
    if _depth.depth == 1:
        _pause()
    try:
        yield
    finally:
        _depth.depth -= 1
        if not _depth.depth:
            _go_on()


def _pause() -> None:
    global _threads, _was_enabled
    with _lock:  # between a look and a switch another thread would switch
        if not _threads:
            _was_enabled = gc.isenabled()
        _threads += 1
        gc.disable()


def _go_on() -> None:
    global _threads
    with _lock:
        _threads -= 1
        if _was_enabled:
            gc.enable()
