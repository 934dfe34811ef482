"""Progress on stderr: a line that rewrites itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ..core.text import clean
from ..scanning.rows import ScanRow

if TYPE_CHECKING:
    from ..sources.hub.throttle import QuotaUse

#: Seconds between two states on a terminal, and between two plain lines.
_REDRAW: Final = 1.0
_PLAIN: Final = 15.0
#: A shorter wait is no news.
_NEWS: Final = 2.0
#: Seconds after which time left is given in minutes: its seconds would be false precision.
_ROUGH: Final = 600
#: Columns that the whole sentence needs, and the one without the limit.
_WIDE = 110
_NARROW = 72
#: How to raise the limit, for who has none of the Hub's tokens.
_LOG_IN: Final = "`hf auth login` or HF_TOKEN raises the limit"


def _no_quotas() -> Sequence[QuotaUse]:
    return ()


class ScanProgress:
    """Counts results in order of completion: how many, how fast, how many failed, time left.

    A thread redraws the line, whether or not results come in: while the Hub's quota is used up it
    says so. ``quotas`` are those of the Hub as they are now, ``has_token`` says
    whose they are.
    """

    def __init__(
        self,
        total: int | None,
        *,
        quiet: bool = False,
        quotas: Callable[[], Sequence[QuotaUse]] = _no_quotas,
        has_token: Callable[[], bool] = bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total
        self.quiet = quiet
        self.done = 0
        self.kinds: Counter[str] = Counter()
        self._quotas = quotas
        self._has_token = has_token
        self._clock = clock
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._begun = self._asleep_since = clock()
        self._waited = 0.0
        self._hinted = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        if not quiet:
            threading.Thread(target=self._run, name="hfinspect-progress", daemon=True).start()

    def add(self, row: ScanRow) -> None:
        """One more result."""
        with self._lock:
            self.done += 1
            if row["status"] != "ok":
                self.kinds[str(row["error_kind"])] += 1
                self._note(f"failed: {clean(str(row['error']))}")

    def add_many(self, count: int, failures: Sequence[ScanRow]) -> None:
        """So many more results, with those of them that are failures."""
        for row in failures:
            self.add(row)
        with self._lock:
            self.done += count - len(failures)

    @property
    def failed(self) -> int:
        """Results that are failures."""
        return sum(self.kinds.values())

    def _run(self) -> None:
        while not self._ended.wait(_REDRAW if self._terminal else _PLAIN):
            with self._lock:
                if not self._ended.is_set():
                    self._draw(self.line(self._clock()))

    def line(self, now: float, *, ended: bool = False) -> str:
        """``120/2,000 (6%)  45.2/s  3 failed  0:41 left``, or what is waited for."""
        quotas = self._quotas()
        blocked = max(quotas, key=lambda quota: quota.blocked, default=None)
        waits = blocked is not None and blocked.blocked >= _NEWS and not ended
        self._waited += now - self._asleep_since if waits else 0.0
        self._asleep_since = now
        count = f"{self.done:,}" + (f"/{self.total:,}" if self.total else "")
        left = self._left(now, quotas)
        if blocked is not None and waits:
            self._hint(blocked)
            wait = clock(blocked.blocked)
            rest = ""
            if left is not None:
                rest = f", {spoken(left)} left"
            short = f"waits {wait}{rest.replace('about ', '')}"
            return self._fitting(
                f"{count}  {self._waiting(blocked)}goes on in {wait}{rest}",
                f"{count}  {short}",
                f"{self.done:,}  {short}",
            )
        share = f" ({self.done * 100 // self.total}%)" if self.total else ""
        rate = f"{self.done / max(now - self._begun, 1e-9):.1f}/s"
        failed = f"{self.failed:,} failed"
        parts = [] if left is None else [f"{spoken(left)} left"]
        last = [text.replace("about ", "") for text in parts]
        return self._fitting(
            "  ".join([f"{count}{share}", rate, failed, *parts]),
            "  ".join([f"{count}{share}", failed, *last]),
            "  ".join([count, failed, *last]),
            "  ".join([count, *last]),
        )

    def _fitting(self, *texts: str) -> str:
        """The first that the terminal has room for: what is last in a line, the time left, would
        be cut."""
        room = _columns() - 1 if self._terminal else _WIDE
        return next((text for text in texts if len(text) <= room), texts[-1])

    def _waiting(self, quota: QuotaUse) -> str:
        """``waiting for the Hub: 500 calls in 5 min without a token``, as far as there is room."""
        text = "waiting for the Hub"
        columns = _columns() if self._terminal else _WIDE
        if quota.allowed is not None and quota.window is not None and columns >= _WIDE:
            text += f": {quota.allowed:,} calls in {quota.window / 60:g} min"
            text += "" if self._has_token() else " without a token"
        return f"{text}; " if columns >= _NARROW else ""

    def _hint(self, quota: QuotaUse) -> None:
        """Once, in a line of its own: what the limit is, and how to raise it."""
        if self._hinted:
            return
        self._hinted = True
        allowed = ""
        if quota.allowed is not None and quota.window is not None:
            allowed = f" to {quota.allowed:,} calls in {quota.window / 60:g} min"
        whose = "with this token" if self._has_token() else f"without a token: {_LOG_IN}"
        self._note(f"the Hub limits requests{allowed} {whose}")

    def _left(self, now: float, quotas: Sequence[QuotaUse]) -> float | None:
        """Seconds to the end: those of the work, and those that quotas hold it back."""
        if not self.total or not self.done:
            return None
        rows = max(self.total - self.done, 0)
        work = rows * max(now - self._begun - self._waited, 0.0) / self.done
        return max([work, *(seconds_of(quota, rows, self.done, work) for quota in quotas)])

    def _draw(self, text: str) -> None:
        if self._terminal:
            width = _columns() - 1
            sys.stderr.write("\r" + text[:width].ljust(width))
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def _note(self, text: str) -> None:
        if self.quiet:
            return
        if self._terminal:
            text = "\r" + text.ljust(_columns() - 1)
        sys.stderr.write(text + "\n")

    def finish(self) -> None:
        """The last line, and failures by kind, always shown unless quiet."""
        self._ended.set()
        with self._lock:
            if self.quiet or not self.done:
                return
            self._draw(self.line(self._clock(), ended=True))
            if self._terminal:
                sys.stderr.write("\n")
            if self.kinds:
                kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.most_common())
                sys.stderr.write(f"{self.failed:,} of {self.done:,} failed: {kinds}\n")


def _columns() -> int:
    return shutil.get_terminal_size().columns


def seconds_of(quota: QuotaUse, rows: int, done: int, work: float) -> float:
    """Seconds that a quota makes ``rows`` more rows last, if they need as many requests as those
    that are done: the rest of this window, and whole windows after it. ``work`` seconds without."""
    if quota.allowed is None or quota.window is None:
        return quota.blocked + work if quota.blocked else 0.0
    needed = math.ceil(rows * quota.used / done)
    remaining = 0 if quota.blocked else quota.remaining
    excess = needed - (quota.allowed if remaining is None else remaining)
    if excess <= 0:
        return 0.0
    windows = math.ceil(excess / quota.allowed) - 1
    last = (excess - windows * quota.allowed) * work / max(needed, 1)
    return max(quota.blocked, quota.seconds) + windows * quota.window + last


def clock(seconds: float) -> str:
    """``1:52``."""
    total = math.ceil(seconds)
    return f"{total // 60}:{total % 60:02d}"


def spoken(seconds: float) -> str:
    """``0:41``, ``about 25 min`` or ``about 3.5 h``."""
    if seconds < _ROUGH:
        return clock(seconds)
    minutes = seconds / 60
    return f"about {minutes:.0f} min" if minutes < 120 else f"about {minutes / 60:.1f} h"
