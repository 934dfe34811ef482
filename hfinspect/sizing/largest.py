"""The largest number for which something still fits."""

from collections.abc import Callable, Mapping


def largest(
    fits: Callable[[int], bool | None], most: int, tried: Mapping[int, bool | None] | None = None
) -> int:
    """The largest number up to ``most`` for which it fits, 0 for none: sizes only grow. ``tried``:
    what is known of some numbers."""
    tried = tried or {}
    low = max((number for number, fit in tried.items() if fit and number <= most), default=0)
    high = min((number for number, fit in tried.items() if not fit), default=max(1, 2 * low))
    while high <= most and fits(high):
        low = high
        high = high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
