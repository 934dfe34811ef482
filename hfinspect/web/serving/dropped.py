"""Files that were dropped on the page lie in the browser: the server orders the parts that it
reads, and the page sends these alone.

The page keeps one request open (``next_part``) while it waits for an answer; that request brings
the last part and takes the next order back.
"""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from ...core.nesting import loads
from ...core.paths import why_unsafe
from ...core.refs import Origin
from ...errors import EntryNotFoundError, HfinspectError, LimitError, UnreadableError, UsageError
from ...sources.local_paths import mount, unmount
from ...sources.source import FileEntry, Source, outcome
from ...sources.waiting import interruptible

T = TypeVar("T")

#: Files of one drop, and drops that are remembered.
MAX_FILES: Final = 20_000
MAX_DROPS: Final = 16
#: Bytes of one part: what a request may have.
MAX_PART: Final = 8_000_000
#: Seconds that the page may take for a part, and that a request waits for an order.
PATIENCE: Final = 20.0
_WAIT: Final = 10.0


class _Order:
    """A part that is wanted, and its bytes once they have come."""

    def __init__(self, name: str, start: int, stop: int) -> None:
        self.id = secrets.token_hex(8)
        self.name = name
        self.start = start
        self.stop = stop
        self.data: bytes | None = None
        self.come = threading.Event()


class Dropped:
    """The files of one drop, by their paths, with sizes in bytes."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self._changed = threading.Condition()
        self._orders: deque[_Order] = deque()
        self._sent: dict[str, _Order] = {}
        self._answers = 0
        self._requests = 0

    def answered(self) -> None:
        """A question was answered: the page's open request may go."""
        with self._changed:
            self._answers += 1
            self._changed.notify_all()

    def part(self, name: str, start: int, stop: int) -> bytes:
        """Bytes of a file, from the page. Raises UnreadableError where it does not send them."""
        order = _Order(name, start, stop)
        with self._changed:
            self._orders.append(order)
            self._changed.notify_all()

        def wait(seconds: float | None) -> None:
            if not order.come.wait(seconds):
                raise TimeoutError

        try:
            interruptible(wait, PATIENCE, TimeoutError)
        except TimeoutError:
            raise UnreadableError(
                name, "cannot be read: its page does not send it", hint="drop it again"
            ) from None
        finally:
            with self._changed:
                self._sent.pop(order.id, None)
        if order.data is None or len(order.data) != stop - start:
            raise UnreadableError(
                name,
                "cannot be read by the browser: it changed or was removed",
                hint="drop it again",
            )
        return order.data

    def next_part(self, brought: str, data: bytes) -> dict[str, Any]:
        """Take the part that the page ``brought``, and return the next order, or nothing after some
        seconds without one. A page has one such request: an earlier one was given up, and so was
        the order that it took back."""
        with self._changed:
            order = self._sent.pop(brought, None)
            if order is not None:
                order.data = data
                order.come.set()
            self._orders.extendleft(self._sent.values())
            self._sent.clear()
            self._requests += 1
            self._changed.notify_all()
            until = time.monotonic() + _WAIT
            before = (self._answers, self._requests)
            while not self._orders:
                left = until - time.monotonic()
                self._changed.wait(max(left, 0))
                if left <= 0 or before != (self._answers, self._requests):
                    return {}
            order = self._orders.popleft()
            self._sent[order.id] = order
        return {"id": order.id, "name": order.name, "start": order.start, "stop": order.stop}


class DroppedSource(Source):
    """One model among dropped files: ``below`` is its folder or its
    one file, None for all of them."""

    def __init__(self, place: str, dropped: Dropped, below: str | None) -> None:
        self._dropped = dropped
        is_file = below in dropped.sizes
        folder = (below or "").rpartition("/")[0] if is_file else below
        self._start = f"{folder}/" if folder else ""
        path = f"{place}/{below}" if below else place
        self._origin = Origin("file" if is_file else "directory", path, path=path)
        self._files = {
            name[len(self._start) :]: FileEntry(name[len(self._start) :], size)
            for name, size in sorted(dropped.sizes.items())
            if name.startswith(self._start)
        }

    @property
    def origin(self) -> Origin:
        return self._origin

    @property
    def is_near(self) -> bool:
        """A part comes from the same machine: an audit looks at as much as on a disk."""
        return True

    def list_files(self) -> Mapping[str, FileEntry]:
        return self._files

    def size(self, path: str) -> int:
        entry = self._files.get(path)
        if entry is None or entry.size is None:
            raise EntryNotFoundError(self.origin.name, "does not exist", where=path)
        return entry.size

    def read(self, path: str, start: int, stop: int) -> bytes:
        start = max(start, 0)
        stop = min(stop, self.size(path))
        parts = (
            self._dropped.part(self._start + path, at, min(at + MAX_PART, stop))
            for at in range(start, stop, MAX_PART)
        )
        return b"".join(parts)

    def read_all(self, path: str, limit: int) -> bytes:
        size = self.size(path)
        if size > limit:
            raise LimitError(
                self.origin.name, f"has {size:,} bytes", expected=f"at most {limit:,}", where=path
            )
        return self.read(path, 0, size)

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T | HfinspectError]:
        return [outcome(task) for task in tasks]

    def close(self) -> None:
        """Nothing is held open."""


class Drops:
    """What was dropped on the pages of one server; the oldest drops are forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._drops: dict[str, Dropped] = {}

    def add(self, body: bytes) -> str:
        """The place of new files, from a JSON list of names and sizes. Raises UsageError."""
        dropped = Dropped(_sizes(body))
        place = f"/dropped-{secrets.token_hex(8)}"
        with self._lock:
            while len(self._drops) >= MAX_DROPS:
                oldest = next(iter(self._drops))
                unmount(oldest)
                del self._drops[oldest]
            self._drops[place] = dropped
        mount(place, lambda below: DroppedSource(place, dropped, below))
        return place

    def answered(self) -> None:
        """A question was answered, about one of them or another model."""
        with self._lock:
            for dropped in self._drops.values():
                dropped.answered()

    def next_part(self, name: str, data: bytes) -> dict[str, Any]:
        """``name`` is ``dropped-....ID``, the ID of the part that ``data`` is, if it is any."""
        place, _, brought = name.partition(".")
        with self._lock:
            dropped = self._drops.get(f"/{place}")
        if dropped is None:
            raise UsageError("the dropped files", "are forgotten", hint="drop them again")
        return dropped.next_part(brought, data)


def _sizes(body: bytes) -> dict[str, int]:
    """``[{"name": "a/b", "size": 1}, ...]`` -> ``{"a/b": 1}``."""
    try:
        listing = loads(body)
    except ValueError:
        listing = None
    if not isinstance(listing, list) or len(listing) > MAX_FILES:
        raise UsageError("the dropped files", "are not a list", expected=f"at most {MAX_FILES:,}")
    sizes = {}
    for one in listing:
        name, size = (one.get("name"), one.get("size")) if isinstance(one, dict) else (None, None)
        if not isinstance(name, str) or why_unsafe(name) or type(size) is not int or size < 0:
            raise UsageError("a dropped file", "has an impossible name or size")
        sizes[name] = size
    return sizes
