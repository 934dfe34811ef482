"""Cancelling a call from another thread, and what asyncio makes of it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

import hfinspect
from hfinspect.errors import CancelledError
from hfinspect.sources.deadline import Deadline

from ..hub_server import HubServer
from ..scanning.scan_support import model_files

VERBS: dict[str, Callable[..., object]] = {
    "inspect": hfinspect.inspect,
    "audit": hfinspect.audit,
    "memory": hfinspect.memory,
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("match", ["/api/models/", "model.safetensors"])
def test_a_stalled_call_ends_soon(hub: HubServer, verb: str, match: str) -> None:
    """The server is silent for a minute; nobody else would end it before ten seconds."""
    hub.add("org/model", model_files())
    hub.fail("stall", match, seconds=60)
    deadline = Deadline()
    threading.Timer(0.2, deadline.cancel).start()
    begun = time.monotonic()
    with pytest.raises(CancelledError, match="was cancelled"):
        VERBS[verb]("org/model", token=False, endpoint=hub.endpoint, timeout=deadline)
    assert time.monotonic() - begun < 5


def test_a_wait_that_the_server_asked_for_ends_soon(hub: HubServer) -> None:
    hub.add("org/model", model_files())
    hub.fail("status", "/api/models/", status=429, headers={"Retry-After": "40"})
    deadline = Deadline()
    threading.Timer(0.3, deadline.cancel).start()
    begun = time.monotonic()
    with pytest.raises(CancelledError, match="was cancelled"):
        hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint, timeout=deadline)
    assert time.monotonic() - begun < 5


def test_a_cancelled_deadline_begins_nothing(hub: HubServer) -> None:
    hub.add("org/model", model_files())
    deadline = Deadline()
    deadline.cancel()
    with pytest.raises(CancelledError):
        hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint, timeout=deadline)
    assert hub.meter.requests == []


def test_in_a_thread_of_asyncio(hub: HubServer) -> None:
    """The pattern of docs/python.md: the task is cancelled, and so is the reading."""
    hub.add("org/model", model_files())
    hub.fail("stall", "/api/models/", seconds=60)
    deadline = Deadline()
    ended = threading.Event()

    def read() -> object:
        try:
            return hfinspect.inspect(
                "org/model", token=False, endpoint=hub.endpoint, timeout=deadline
            )
        finally:
            ended.set()

    async def main() -> None:
        task = asyncio.create_task(asyncio.to_thread(read))
        await asyncio.sleep(0.2)
        task.cancel()
        deadline.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ended.is_set()  # asyncio.run waits for its threads


def test_progress_may_stop_a_call(hub: HubServer) -> None:
    hub.add("org/model", model_files())

    class EnoughError(Exception):
        pass

    def stop(what: str, done: int, total: int) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint, progress=stop)
