"""Ctrl-C ends the program at once, whatever its main thread waits for."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from .streams import complain

#: Seconds that the usual way out may take: enough to write a row, too short to be noticed.
GRACE: Final = 0.12
#: The exit code of a program that was interrupted: 128 and the number of SIGINT.
INTERRUPTED: Final = 130
#: The name of the thread that waits for the signal.
WATCH: Final = "hfinspect-interrupt"

_announced = threading.Lock()

#: What to say next to "interrupted", by who is running: what is there, and how to go on.
MORE: list[Callable[[], str]] = []


def watch() -> None:
    """From now on SIGINT ends the process within ``GRACE`` seconds.

    Python runs its own handler in the main thread, between two of its steps: not while that waits
    in a library for a name server or a handshake. The signal's number, however, is written to a
    pipe (on Windows: a socket) at once, which a thread reads. Where the handler runs in a step
    whose errors nobody can catch (an import clears up behind itself, an object is deleted), Python
    shows a traceback and goes on: the thread ends the process, and the traceback is left out.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # somebody else's program, with its own handlers
    read, writing = _pipe()
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def wait() -> None:
        while True:
            if signal.SIGINT in read(64):
                time.sleep(GRACE)
                say_interrupted()
                os._exit(INTERRUPTED)

    shown = sys.unraisablehook

    def show(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            shown(unraisable)

    sys.unraisablehook = show
    _watching.set()
    with suppress(RuntimeError):  # no thread can start
        threading.Thread(target=wait, name=WATCH, daemon=True).start()


_watching = threading.Event()


def _pipe() -> tuple[Callable[[int], bytes], int]:
    """What reads some bytes, and the descriptor whose writer does not wait. Both stay open."""
    if sys.platform == "win32":
        import socket

        reading, writing = socket.socketpair()
        writing.setblocking(False)
        return reading.recv, writing.detach()
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    return partial(os.read, read_end), write_end


def hides_interrupt(error: Exception) -> bool:
    """Whether Ctrl-C came in the middle of a class statement: before 3.12 Python wraps what a
    field's ``__set_name__`` raises."""
    return isinstance(error.__cause__, KeyboardInterrupt)


def say_interrupted() -> int:
    """One line on standard error, which the watching thread does not repeat; the exit code."""
    if _announced.acquire(blocking=False) or not _watching.is_set():
        with suppress(ValueError):  # standard error is closed
            more = MORE[-1]() if MORE else ""
            complain(f"interrupted: {more}" if more else "interrupted")
    return INTERRUPTED
