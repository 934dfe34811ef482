"""Primes in a row, against division and against numbers that fool weaker tests."""

from __future__ import annotations

import pytest

from hfinspect.architectures.qwen4_exp import is_prime, primes_from


def by_division(value: int) -> bool:
    return value > 1 and all(value % divisor for divisor in range(2, int(value**0.5) + 1))


def test_small_numbers() -> None:
    assert [n for n in range(3000) if is_prime(n)] == [n for n in range(3000) if by_division(n)]


@pytest.mark.parametrize(
    "composite",
    [
        561,  # Carmichael
        3_215_031_751,  # a strong pseudoprime to bases 2, 3, 5 and 7
        3_474_749_660_383,  # to all bases up to 13
        (2**31 - 1) ** 2,
    ],
)
def test_pseudoprimes_are_not_primes(composite: int) -> None:
    assert not is_prime(composite)


def test_the_first_sizes_of_a_table_of_twenty_million() -> None:
    assert primes_from(20_000_000, 2) == [20_000_003, 20_000_023]
    assert all(by_division(prime) for prime in primes_from(20_000_000, 20))


def test_a_prime_start_counts() -> None:
    assert primes_from(2**31 - 1, 1) == [2**31 - 1]
