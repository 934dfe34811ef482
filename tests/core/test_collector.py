"""The collector of cycles, paused by many threads at once."""

from __future__ import annotations

import gc
import threading

import pytest

from hfinspect.core import collector
from hfinspect.core.collector import collector_paused


class LateSwitch:
    """The collector's switches for two threads: of the second one, the first ends its block between
    the look and the switch."""

    def __init__(self) -> None:
        self.looked = threading.Event()
        self.ended = threading.Event()
        self.first = threading.current_thread()
        self.enable = gc.enable
        self.disable = gc.disable

    def isenabled(self) -> bool:
        state = gc.isenabled()
        if threading.current_thread() is not self.first:
            self.looked.set()
            self.ended.wait(0.2)
        return state


@pytest.mark.parametrize("enabled", [True, False])
def test_no_order_of_threads_leaves_it_off(monkeypatch: pytest.MonkeyPatch, enabled: bool) -> None:
    """It was left off after some 100,000 models of a scan, whose memory then grew without end."""
    switches = LateSwitch()
    monkeypatch.setattr(collector, "gc", switches)

    def second() -> None:
        with collector_paused():
            assert not gc.isenabled()

    thread = threading.Thread(target=second)
    gc.enable() if enabled else gc.disable()
    try:
        with collector_paused():
            thread.start()
            switches.looked.wait(0.2)
        switches.ended.set()
        thread.join()
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def test_a_block_in_another_one_does_not_end_it() -> None:
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
