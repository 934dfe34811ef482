"""How far the reading of one command has come: a line on a terminal that is gone at the end.

It says what is true: who is asked what while nothing has come, with the seconds that it takes,
and then how much of it is read.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from ..core.progress import Progress, listening
from ..core.text import byte_size, clean
from .streams import complain

#: Seconds before anything is shown, and between two states.
_FIRST: Final = 1.0
_REDRAW: Final = 0.1
_BAR: Final = 30

#: Set by --quiet: nothing is shown.
QUIET = False


@contextmanager
def reading_line(
    *targets: str, revision: str | None = None, what: str = ""
) -> Iterator[Progress | None]:
    """A progress that is shown on standard error if that is a terminal, after a second.

    ``targets`` are what the command was given, ``what`` is read of them (all, if empty). None where
    nothing is shown. What takes long and is no reading is said in a line that stays, on any
    standard error; neither with --quiet.
    """
    if QUIET:
        yield None
        return
    if sys.stderr is None or not sys.stderr.isatty():
        with listening(complain):
            yield None
        return
    line = _ReadingLine(_first(targets, revision, what), is_remote=not all(map(_is_here, targets)))
    with suppress(RuntimeError):  # no thread can start: the line stays away
        threading.Thread(target=line.run, name="hfinspect-progress", daemon=True).start()
    try:
        with listening(line.tell):
            yield line.report
    finally:
        line.end()


def _first(targets: Sequence[str], revision: str | None, what: str) -> str:
    """What is true before anything has come in."""
    subject = clean(targets[0]) if len(targets) == 1 else f"{len(targets):,} models"
    all_local = all(map(_is_here, targets))
    if all_local:
        return f"reading {subject}"
    if len(targets) > 1 or "@" in subject or "://" in subject:
        return f"requesting from the Hub: {subject}"
    of = f"{what or clean(revision or 'main')} of"
    return f"requesting from the Hub: {of} {subject}"


def _is_here(target: str) -> bool:
    return target.startswith((".", "/", "~")) or os.path.exists(target)  # noqa: PTH110 - no error


class _ReadingLine:
    """The line, and the thread that draws it: while a server is silent nobody reports."""

    def __init__(self, text: str, *, is_remote: bool) -> None:
        self._text = text
        self._is_remote = is_remote
        self._shown = ""
        self._ended = threading.Event()
        self._lock = threading.Lock()

    def report(self, what: str, done: int, total: int) -> None:
        if what == "values":
            share = done / total if total else 1.0
            bar = "#" * int(min(share, 1.0) * _BAR)
            self._text = f"[{bar:<{_BAR}}] {share:4.0%} {byte_size(done)} of {byte_size(total)}"
        elif done or not self._is_remote:
            self._text = f"reading {what} {done:,}/{total:,}"
        else:
            self._text = f"requesting from the Hub: {total:,} {what}"

    def tell(self, text: str) -> None:
        """A line that stays, above this one."""
        with self._lock:
            blank = " " * min(len(self._shown), self._width())
            sys.stderr.write(f"\r{blank}\r" if blank else "")
            self._shown = ""
            complain(text)
        self._text = text.partition(",")[0]

    def run(self) -> None:
        begun = time.monotonic()
        while not self._ended.wait(_REDRAW):
            seconds = time.monotonic() - begun
            if seconds >= _FIRST:
                self._draw(f"{self._text} ({seconds:.0f} s)")

    def end(self) -> None:
        """Nothing is drawn any more, and what was is gone."""
        self._ended.set()
        self._draw("")

    def _draw(self, text: str) -> None:
        with self._lock:
            if text == self._shown or (text and self._ended.is_set()):
                return
            width = self._width()
            blank = "" if text else "\r"
            sys.stderr.write("\r" + text[:width].ljust(min(len(self._shown), width)) + blank)
            sys.stderr.flush()
            self._shown = text[:width]

    @staticmethod
    def _width() -> int:
        import shutil  # a pipe has no such line

        return shutil.get_terminal_size().columns - 1
