"""Results that are remembered as long as the object that they were made of."""

from __future__ import annotations

import gc
from collections.abc import Sized

from hfinspect.core.once import once_each


class Held(list[int]):
    """A list that takes weak references."""


def test_each_object_is_looked_at_once_while_it_lives() -> None:
    looked: list[int] = []

    @once_each
    def length(of: Sized) -> int:
        looked.append(id(of))
        return len(of)

    first = Held([1])
    second = Held([1])
    assert [length(first), length(first), length(second)] == [1, 1, 1]
    assert looked == [id(first), id(second)], "equal objects are two"
    for _ in range(1000):  # addresses come again, results do not
        assert length(Held([1, 2])) == 2
    del first
    gc.collect()
    assert [length(Held(range(n))) for n in range(5)] == [0, 1, 2, 3, 4]


def test_of_what_takes_no_weak_reference_it_is_made_anew() -> None:
    @once_each
    def total(of: list[int]) -> int:
        return sum(of)

    plain = [1]
    assert total(plain) == 1
    plain.append(2)
    assert total(plain) == 3
