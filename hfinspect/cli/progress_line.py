"""Progress on stderr: a line that rewrites itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time

from ..core.text import clean
from ..scanning.rows import Row

#: Seconds between two updates on a terminal, and between two plain lines.
_REDRAW, _PLAIN = 0.1, 15.0


class Progress:
    """Counts results in order of completion: how many, how fast, how many failed, time left."""

    def __init__(self, total: int | None, *, quiet: bool = False) -> None:
        self.total = total
        self.quiet = quiet
        self.done = 0
        self.failed = 0
        self._terminal = sys.stderr.isatty()
        self._begun = time.monotonic()
        self._shown = self._begun
        self._lock = threading.Lock()

    def add(self, row: Row) -> None:
        """One more result."""
        with self._lock:
            self.done += 1
            if row["status"] != "ok":
                self.failed += 1
                self._note(f"failed: {clean(str(row['error']))}")
            now = time.monotonic()
            if not self.quiet and now - self._shown >= (_REDRAW if self._terminal else _PLAIN):
                self._shown = now
                self._draw(self.line(now))

    def line(self, now: float) -> str:
        """``120/2,000 (6%)  45.2/s  3 failed  0:41 left``."""
        seconds = max(now - self._begun, 1e-9)
        rate = self.done / seconds
        parts = [f"{self.done:,}"]
        if self.total:
            parts[0] += f"/{self.total:,} ({self.done * 100 // self.total}%)"
        parts += [f"{rate:.1f}/s", f"{self.failed:,} failed"]
        if self.total and rate:
            left = int((self.total - self.done) / rate)
            parts.append(f"{left // 60}:{left % 60:02d} left")
        return "  ".join(parts)

    def _draw(self, text: str) -> None:
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r" + text[:width].ljust(width))
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def _note(self, text: str) -> None:
        if self.quiet:
            return
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            text = "\r" + text.ljust(width)
        sys.stderr.write(text + "\n")

    def finish(self) -> None:
        """The last line, always shown unless quiet."""
        if not self.quiet and self.done:
            self._draw(self.line(time.monotonic()))
            if self._terminal:
                sys.stderr.write("\n")
