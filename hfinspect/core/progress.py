"""How far a long reading has come, for whoever wants to show it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

T = TypeVar("T")

#: Called with what is read (``headers``, in files; ``values``, in bytes), how much of it is done,
#: and how much there is in all. It may be called from any thread, one call at a time.
Progress: TypeAlias = Callable[[str, int, int], None]


class Count:
    """Things done of things to do, reported to ``progress`` at each change."""

    def __init__(self, what: str, progress: Progress | None) -> None:
        self._what = what
        self._progress = progress
        self._done = self._total = 0
        self._lock = threading.Lock()

    def expect(self, more: int) -> None:
        """So many more to do; negative where fewer turn out to be there."""
        self._change(0, more)

    def add(self, done: int = 1) -> None:
        """So many more are done."""
        self._change(done, 0)

    def counted(self, task: Callable[[], T]) -> Callable[[], T]:
        """The task, counted as done when it ends, well or not."""
        if self._progress is None:
            return task

        def run() -> T:
            try:
                return task()
            finally:
                self.add()

        return run

    def _change(self, done: int, total: int) -> None:
        if self._progress is None or not (done or total):
            return
        with self._lock:
            self._done += done
            self._total += total
            self._progress(self._what, self._done, self._total)


def joined(progress: Progress, parts: int) -> list[Progress]:
    """For each of several readings at once a progress; ``progress`` is called with their sums."""
    states: list[dict[str, tuple[int, int]]] = [{} for _ in range(parts)]
    lock = threading.Lock()

    def one(part: int) -> Progress:
        def report(what: str, done: int, total: int) -> None:
            with lock:
                states[part][what] = (done, total)
                pairs = [state[what] for state in states if what in state]
                progress(what, sum(done for done, _ in pairs), sum(total for _, total in pairs))

        return report

    return [one(part) for part in range(parts)]


#: Called before a step that takes seconds and reads nothing, with one sentence about it.
Listener: TypeAlias = Callable[[str], None]
_LISTENERS: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within the block ``listener`` is called, from any thread; without one nothing is said."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def tell(text: str) -> None:
    """Call the innermost listener, if there is one."""
    if _LISTENERS:
        _LISTENERS[-1](text)
