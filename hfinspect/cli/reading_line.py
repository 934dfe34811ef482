"""How far the reading of one command has come: a line on a terminal that is gone at the end."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..core.progress import Progress
from ..core.text import byte_size

#: Seconds before anything is shown, and between two states.
_FIRST: Final = 1.0
_REDRAW: Final = 0.1
_BAR: Final = 30


@contextmanager
def reading_line(what: str = "asking the Hub") -> Iterator[Progress | None]:
    """A progress that is shown on standard error if that is a terminal, after a second.

    ``what`` is shown until something is read. None where nothing is shown.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    line = _Line(what)
    threading.Thread(target=line.run, name="hfinspect-progress", daemon=True).start()
    try:
        yield line.report
    finally:
        line.end()


class _Line:
    """The line, and the thread that draws it: while a server is silent nobody reports."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._shown = ""
        self._ended = threading.Event()
        self._lock = threading.Lock()

    def report(self, what: str, done: int, total: int) -> None:
        if what == "values":
            share = done / total if total else 1.0
            bar = "#" * int(min(share, 1.0) * _BAR)
            self._text = f"[{bar:<{_BAR}}] {share:4.0%} {byte_size(done)} of {byte_size(total)}"
        else:
            self._text = f"reading {what} {done:,}/{total:,}"

    def run(self) -> None:
        begun = time.monotonic()
        while not self._ended.wait(_REDRAW):
            if time.monotonic() - begun >= _FIRST:
                self._draw(self._text)

    def end(self) -> None:
        """Nothing is drawn any more, and what was is gone."""
        self._ended.set()
        self._draw("")

    def _draw(self, text: str) -> None:
        with self._lock:
            if text == self._shown or (text and self._ended.is_set()):
                return
            width = shutil.get_terminal_size().columns - 1
            blank = "" if text else "\r"
            sys.stderr.write("\r" + text[:width].ljust(min(len(self._shown), width)) + blank)
            sys.stderr.flush()
            self._shown = text[:width]
