"""Threads: used again, and waited for by nobody."""

from __future__ import annotations

import threading

from hfinspect.errors import HfinspectError
from hfinspect.sources.pool import run_all
from hfinspect.sources.threads import DaemonThreads


def test_threads_are_used_again() -> None:
    before = threading.active_count()
    for _ in range(30):
        pool = DaemonThreads(1)
        assert pool.submit(threading.get_ident).result(10) != threading.get_ident()
        pool.shutdown()
        pool.shutdown()  # twice is once
    assert threading.active_count() <= before + 3  # one may not be back yet when the next is wanted


def test_a_task_may_ask_itself() -> None:
    """The thread that asks does the last of its tasks."""

    def nested() -> tuple[int, list[int | HfinspectError]]:
        return threading.get_ident(), run_all([threading.get_ident] * 2, 2)

    pool = DaemonThreads(1)
    own, [other, last] = pool.submit(nested).result(10)
    pool.shutdown(wait=False)
    assert last == own != other


def test_the_main_thread_only_waits() -> None:
    """Its waits are short, so that Ctrl-C comes at once."""
    idents = run_all([threading.get_ident] * 3, 8)
    assert threading.get_ident() not in idents
