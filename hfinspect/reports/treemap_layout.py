"""A squarified treemap: rectangles whose areas are sizes, as nearly square as rows of them allow.

Bruls, Huizing and van Wijk, *Squarified Treemaps*, 2000: items are put into a row along the shorter
side as long as the worst ratio of sides gets better.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle: left, top, width, height."""

    x: float
    y: float
    w: float
    h: float

    def inner(self, edge: float, head: float = 0.0) -> "Box":
        """What is left within an edge, below a head."""
        width = max(self.w - 2 * edge, 0.0)
        height = max(self.h - 2 * edge - head, 0.0)
        return Box(self.x + edge, self.y + edge + head, width, height)


def squarified(sizes: Sequence[int], box: Box) -> list[Box]:
    """One box for each size, in the order given; sizes of nothing get boxes of nothing."""
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    total = sum(sizes)
    boxes = [Box(box.x, box.y, 0.0, 0.0)] * len(sizes)
    if not total or box.w <= 0 or box.h <= 0:
        return boxes
    scale = box.w * box.h / total
    waiting = [i for i in order if sizes[i] > 0]
    while waiting:
        side = min(box.w, box.h)
        count, area = _row([sizes[i] * scale for i in waiting], side)
        row = waiting[:count]
        waiting = waiting[count:]
        box = _place_row(row, [sizes[i] * scale for i in row], area, box, boxes)
    return boxes


def _row(areas: Sequence[float], side: float) -> tuple[int, float]:
    """How many of the areas make the best row along a side, and their sum."""
    total = 0.0
    best = float("inf")
    for count, area in enumerate(areas):
        grown = total + area
        longest = areas[0]
        shortest = area
        worst = max(side**2 * longest / grown**2, grown**2 / (side**2 * shortest))
        if worst > best:
            return count, total
        total = grown
        best = worst
    return len(areas), total


def _place_row(
    row: Sequence[int], areas: Sequence[float], total: float, box: Box, boxes: list[Box]
) -> Box:
    """Puts a row along the shorter side, and returns what is left of the box."""
    wide = box.w >= box.h
    side = box.h if wide else box.w
    depth = total / side if side else 0.0
    at = box.y if wide else box.x
    for item, area in zip(row, areas, strict=True):
        length = area / depth if depth else 0.0
        boxes[item] = Box(box.x, at, depth, length) if wide else Box(at, box.y, length, depth)
        at += length
    if wide:
        return Box(box.x + depth, box.y, max(box.w - depth, 0.0), box.h)
    return Box(box.x, box.y + depth, box.w, max(box.h - depth, 0.0))
