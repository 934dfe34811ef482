"""Threads that no exit waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_END: Final = None


class DaemonThreads(Executor):
    """Like ThreadPoolExecutor, but the interpreter does not wait for its threads when it ends: a
    server that hangs must not hold up Ctrl-C, nor a loop over a scan that was left early."""

    def __init__(self, workers: int) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._workers = workers
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        self._queue.put((future, lambda: fn(*args, **kwargs)))
        if len(self._threads) < self._workers:
            name = f"hfinspect-{len(self._threads)}"
            thread = threading.Thread(target=self._serve, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def _serve(self) -> None:
        while (task := self._queue.get()) is not _END:
            _run(*task)
            del task  # or an idle thread would keep its last result alive

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end after what is queued; wait for them only if asked to."""
        while cancel_futures and not self._queue.empty():
            with suppress(Empty):
                task = self._queue.get_nowait()
                if task is not _END:
                    task[0].cancel()
        for _ in self._threads:
            self._queue.put(_END)
        if wait:
            for thread in self._threads:
                thread.join()


def _run(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # the future carries it, as in the standard executor
        future.set_exception(error)
