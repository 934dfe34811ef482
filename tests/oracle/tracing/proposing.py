"""Which expressions may explain a size: those that were computed, and simple ones over the keys."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from hfinspect.trees.arithmetic import Written

from .evaluating import Env


def size_of(written: Written) -> int:
    return 1 + sum(map(size_of, written)) if isinstance(written, list) else 1


def proposed(
    noted: Iterable[Written], sizes: Iterable[Written], env: Env, effective: Sequence[str]
) -> list[Written]:
    """Expressions in the order in which they are tried: sizes of tensors, keys, what was computed,
    then simple combinations of the keys that change anything."""
    terms: dict[str, Written] = {}

    def add(written: Written) -> None:
        terms.setdefault(repr(written), written)

    for written in sorted(sizes, key=size_of):
        add(written)
    plain: list[Written] = []
    for key in effective:
        held = env.get(key)
        if isinstance(held, list):
            places = [["[]", key, i] for i in range(len(held))] + [["[]", key, -1]]
            plain += [p for p in places if held]
            add(["len", key])
        elif held is None or (isinstance(held, (int, float)) and not isinstance(held, bool)):
            plain.append(key)
    for written in plain:
        add(written)
    for written in sorted(noted, key=size_of):
        add(written)
    # Half, double, one more: what conversions of fused tensors and heads make of a size.
    for written in list(terms.values()):
        if size_of(written) <= 7:
            for n in (2, 3, 4):
                add(["*", n, written])
                add(["//", written, n])
            add(["+", written, 1])
            add(["-", written, 1])
    for written in sizes:  # gate and up in one
        add(["*", 2, written])
    for written in plain:  # sines and cosines of a width
        add(["*", 2, ["//", ["+", written, 1], 2]])
    if len(plain) <= 16:
        for a in plain:
            add(["*", a, a])  # a table of positions with as many rows as columns
        for a, b in itertools.combinations(plain, 2):
            add(["*", a, b])
            add(["+", a, b])
        for a, b in itertools.permutations(plain, 2):
            add(["//", a, b])
            add(["-", a, b])
    return list(terms.values())
