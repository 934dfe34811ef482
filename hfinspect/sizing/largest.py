"""The largest number for which something still fits."""

from collections.abc import Callable


def largest(fits: Callable[[int], bool | None], most: int) -> int:
    """The largest number up to ``most`` for which it fits, 0 for none: sizes only grow."""
    low, high = 0, 1
    while high <= most and fits(high):
        low, high = high, high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
