"""Primes in a row, for tables whose sizes are primes (n-gram hashing).

Miller and Rabin's test with fixed bases, exact below 3.3 · 10^24 (Sorenson and Webster 2015) and so
for every number a config may hold; its cost does not grow with the square root of a hostile one.
"""

from __future__ import annotations

from typing import Final

_BASES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


def is_prime(value: int) -> bool:
    if value < 2:
        return False
    for base in _BASES:
        if value % base == 0:
            return value == base
    odd, twos = value - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(value, base, odd, twos) for base in _BASES)


def _passes(value: int, base: int, odd: int, twos: int) -> bool:
    power = pow(base, odd, value)
    if power in (1, value - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % value
        if power == value - 1:
            return True
    return False


def primes_from(start: int, count: int) -> list[int]:
    """The first ``count`` primes that are at least ``start``."""
    found: list[int] = []
    value = start
    while len(found) < count:
        if is_prime(value):
            found.append(value)
        value += 1
    return found
