"""What the comparisons that a constructor makes say of the keys in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hfinspect.trees.arithmetic import Written

from .evaluating import EnvValues, evaluated
from .writing import keys_of


def other_way(condition: Written, env: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Changes of one number of the config at which a comparison comes out otherwise."""
    op, *sides = condition

    def holds_at(changes: Mapping[str, Any]) -> bool | None:
        values = EnvValues({**env, **changes})
        one, other = (evaluated(side, values) for side in sides)
        if one is None or other is None:
            return None
        return bool(one == other if op == "==" else one < other if op == "<" else one <= other)

    now = holds_at({})
    for key in dict.fromkeys(keys_of(condition)):
        held = env.get(key)
        if now is None or type(held) is not int or held < 1:
            continue
        for number in (held * 2, held // 2, held * 8, 1, 2, held * 64, held + 1):
            if number > 0 and number != held and holds_at({key: number}) is (not now):
                yield {key: number}
                break


def against_zero(compared: Iterable[Written]) -> set[str]:
    """The keys that are compared with nothing: a share of frames that are masked."""
    return {
        key
        for op, *sides in compared
        for key, other in (sides, sides[::-1])
        if isinstance(key, str) and op != "in" and not isinstance(other, (str, list)) and other == 0
    }


def limits(compared: Iterable[Written]) -> dict[str, set[int]]:
    """Key -> the small numbers that it is compared with."""
    numbers_of: dict[str, set[int]] = {}
    for op, *sides in compared:
        for a, b in (sides, sides[::-1]):
            if isinstance(a, str) and isinstance(b, int) and op != "in" and 0 < b < 2048:
                numbers_of.setdefault(a, set()).add(b)
    return {key: set(sorted(numbers)[:4]) for key, numbers in numbers_of.items()}
