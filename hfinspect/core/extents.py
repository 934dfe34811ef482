"""Which bytes of a shared storage a tensor consists of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple


class Extent(NamedTuple):
    """The bytes of one tensor inside the storage ``key`` of its file.

    ``start`` is the first byte, ``run`` the bytes that follow one another from there. ``steps``
    repeat that run, the closest first: (bytes from one to the next, how many). Two extents are
    equal exactly if they consist of the same bytes in one layout, so a transposed or reshaped view
    has that of its original.
    """

    key: str
    start: int
    run: int
    steps: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        form = "".join(f"/{step}x{count}" for step, count in self.steps)
        return f"{self.key}+{self.start}:{self.run}{form}"

    @property
    def stop(self) -> int:
        """The first byte after the last one."""
        return self.start + self.run + sum((count - 1) * step for step, count in self.steps)

    @property
    def pieces(self) -> int:
        """How many runs there are."""
        total = 1
        for _, count in self.steps:
            total *= count
        return total

    @property
    def nbytes(self) -> int | None:
        """Bytes in all; None where runs overlap, so that counting them would count bytes twice."""
        reach = self.run
        for step, count in self.steps:
            if step < reach:
                return None
            reach += (count - 1) * step
        return self.run * self.pieces

    def runs(self) -> Iterator[tuple[int, int]]:
        """(first byte, byte after the last) of every run."""
        if not self.steps:
            yield self.start, self.start + self.run
            return
        ranges = (range(0, step * count, step) for step, count in reversed(self.steps))
        for offsets in product(*ranges):
            begin = self.start + sum(offsets)
            yield begin, begin + self.run
