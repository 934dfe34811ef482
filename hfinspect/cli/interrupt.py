"""Ctrl-C ends the program at once, whatever its main thread waits for."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from contextlib import suppress
from typing import Final

from .streams import complain

#: Seconds that the usual way out may take: enough to write a row, too short to be noticed.
GRACE: Final = 0.12
#: The exit code of a program that was interrupted: 128 and the number of SIGINT.
INTERRUPTED: Final = 130
#: The name of the thread that waits for the signal.
WATCH: Final = "hfinspect-interrupt"

_said = threading.Lock()


def watch() -> None:
    """From now on SIGINT ends the process within ``GRACE`` seconds.

    Python runs its own handler in the main thread, between two of its steps: not while that waits
    in a library for a name server or a handshake. The signal's number, however, is written to a
    socket at once, which a thread reads.
    """
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    try:
        signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    except ValueError:  # not the main thread: somebody else's program, and its own handlers
        return

    def wait() -> None:
        while True:
            if signal.SIGINT in reading.recv(64):
                time.sleep(GRACE)
                say_interrupted()
                os._exit(INTERRUPTED)

    _ends.extend((reading, writing))
    threading.Thread(target=wait, name=WATCH, daemon=True).start()


_ends: list[socket.socket] = []


def say_interrupted() -> int:
    """One line on standard error, which the watching thread does not repeat; the exit code."""
    if _said.acquire(blocking=False) or not _ends:
        with suppress(ValueError):  # standard error is closed
            complain("interrupted")
    return INTERRUPTED
