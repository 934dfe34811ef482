"""Threads that compute take turns, and sleep meanwhile."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hfinspect.core import turns
from hfinspect.core.turns import turn

pytestmark = pytest.mark.skipif(
    not turns._ONE_AT_A_TIME, reason="a Python whose threads go on side by side"
)


def test_one_at_a_time() -> None:
    inside: list[int] = []
    most = 0

    def work(number: int) -> None:
        nonlocal most
        with turn():
            inside.append(number)
            most = max(most, len(inside))
            time.sleep(0.001)
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(24)))
    assert most == 1


def test_a_turn_within_a_turn() -> None:
    with turn(), turn():
        pass


def test_who_raises_gives_it_back() -> None:
    with pytest.raises(ValueError, match="no"), turn():
        raise ValueError("no")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(test_a_turn_within_a_turn).result(5)


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_does_not_wait_for_a_thread_of_its_parent() -> None:
    begun, done = threading.Event(), threading.Event()

    def hold() -> None:
        with turn():
            begun.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait(10)
    child = os.fork()
    if child == 0:
        with turn():
            os._exit(0)
    ended = time.monotonic() + 5
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < ended:
        time.sleep(0.01)
    done.set()
    thread.join()
    if found == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert found == (child, 0)
