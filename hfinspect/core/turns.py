"""Threads that compute take turns.

Python lets one thread at a time go on. Those that want to wake up two hundred times a second to say
so, and every call of the system hands over to one of them. With dozens of threads that costs as
much as what they compute; a thread that waits for a lock sleeps.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Final

#: False for a Python that lets threads go on side by side.
_ONE_AT_A_TIME: Final[bool] = getattr(sys, "_is_gil_enabled", lambda: True)()

_lock = threading.RLock()


def turn() -> AbstractContextManager[object]:
    """For the length of a block that computes and does not wait for a network: no other thread is
    in such a block. A thread that is may enter another one."""
    return _lock if _ONE_AT_A_TIME else nullcontext()


def _anew() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_anew)  # whoever had it is not there
