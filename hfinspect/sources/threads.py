"""Threads that no exit waits for, and that are used again: to begin one costs as much as a request
of a server."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_END: Final = None

#: Seconds that a thread waits for more to do before it ends.
_IDLE_SECONDS: Final = 5.0

_Inbox = SimpleQueue[Callable[[], object]]

#: Where threads that wait for more to do are reached, the last one to become idle last.
_idle: list[_Inbox] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # there they are not


def start(call: Callable[[], object]) -> None:
    """Run ``call``, which raises nothing, in a thread that no end of the interpreter waits for, or
    here and now where no thread can start."""
    if not started(call):
        call()


def started(call: Callable[[], object]) -> bool:
    """Whether ``call`` runs in a thread now. None can start in WebAssembly, nor in a container that
    has as many as it may have."""
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        thread = threading.Thread(target=_work, args=(inbox,), name="hfinspect", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return False
    inbox.put(call)
    return True


def _work(inbox: _Inbox) -> None:
    while True:
        try:
            call = inbox.get(timeout=_IDLE_SECONDS)
        except Empty:
            with suppress(ValueError):
                _idle.remove(inbox)
                return
            continue  # it is no longer there: something is just being put into it
        call()
        del call  # or an idle thread would keep its last result alive
        _idle.append(inbox)


class DaemonThreads(Executor):
    """Like ThreadPoolExecutor, but the interpreter does not wait for its threads when it ends: a
    server that hangs must not hold up Ctrl-C, nor a loop over a scan that was left early."""

    def __init__(self, workers: int) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._workers = workers
        self._serving = 0
        self._ended = SimpleQueue[None]()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        self._queue.put((future, lambda: fn(*args, **kwargs)))
        if self._serving < self._workers:
            if started(self._serve):
                self._serving += 1
            elif not self._serving:
                self._serve_here()
        return future

    def _serve_here(self) -> None:
        """What is queued, one after the other."""
        with suppress(Empty):
            while (task := self._queue.get_nowait()) is not _END:
                _run(*task)

    def _serve(self) -> None:
        while (task := self._queue.get()) is not _END:
            _run(*task)
            del task  # or an idle thread would keep its last result alive
        self._ended.put(None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end after what is queued; wait for them only if asked to."""
        while cancel_futures and not self._queue.empty():
            with suppress(Empty):
                task = self._queue.get_nowait()
                if task is not _END:
                    task[0].cancel()
        for _ in range(self._serving):
            self._queue.put(_END)
        while wait and self._serving:
            self._ended.get()
            self._serving -= 1


def _run(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # the future carries it, as in the standard executor
        future.set_exception(error)
