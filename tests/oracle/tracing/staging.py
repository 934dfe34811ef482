"""Models of stages: config lists with an entry for each, and what may be said of the n-th stage.

A class may have as many stages as its lists have entries.  Then all lists of one length are tried
at other lengths together, and expressions that were computed from one stage's entries are proposed
for the stage of any number.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hfinspect.trees.arithmetic import Written

from .evaluating import Env
from .numbering import Staged
from .proposing import size_of
from .writing import PLACES

#: Counts of stages; and lists that are not of stages, however long they are.
_COUNTS = re.compile(r"(stage|block|level|layer)s?$")
_OTHERS = re.compile(r"(^|\.)(out_\w+|stage_names|\w*(mean|std|size|ids|token|labels?)|_\w+)$")
_WIDTHS = re.compile(r"hidden_size|width|channels|dims?$|embed")
#: Expressions that are turned at most, and forms that one is turned into.
_MOST = 1500
_FORMS = 8


class Parallel(NamedTuple):
    """Lists of one section with as many entries, and the counts that are as many."""

    lists: tuple[str, ...]
    counts: tuple[str, ...]
    length: int

    def resized(self, env: Mapping[str, Any], length: int) -> dict[str, Any]:
        """What the keys become in a model of so many stages."""
        lists = {key: resized(key, env[key], length) for key in self.lists}
        return {**lists, **dict.fromkeys(self.counts, length)}

    def lengths(self, env: Env) -> dict[str, int | None]:
        """How many stages each key says, None where that is not known."""
        length_of: dict[str, int | None] = {}
        for key in (*self.lists, *self.counts):
            held = env.get(key)
            counted = held if type(held) is int else None
            length_of[key] = len(held) if isinstance(held, list) else counted
        return length_of

    def agree(self, env: Env) -> bool:
        return len(set(self.lengths(env).values())) == 1


def parallel(env: Env) -> list[Parallel]:
    """The groups of keys that have an entry, or a count, for each stage."""
    groups: dict[tuple[str, int], list[str]] = {}
    for key, value in env.items():
        if isinstance(value, list) and len(value) > 1 and not _OTHERS.search(key):
            groups.setdefault((key.rpartition(".")[0], len(value)), []).append(key)
    keys = []
    for (path, length), lists in groups.items():
        counts = [
            key
            for key, value in env.items()
            if type(value) is int
            and value == length
            and key.rpartition(".")[0] == path
            and _COUNTS.search(key)
        ]
        numbers = any(all(type(v) is int for v in env[key]) for key in lists)
        if numbers and len(lists) + len(counts) > 1:
            keys.append(Parallel(tuple(lists), tuple(counts), length))
    return keys


def resized(key: str, value: Any, length: int) -> Any:
    """A list at another length; widths go on as they grew."""
    if not isinstance(value, list) or not value:
        return value
    items = list(value[:length])
    while len(items) < length:
        last = items[-1]
        grows = type(last) is int and last > 16 and _WIDTHS.search(key)
        items.append(2 * last if grows else last)
    return items


def staged(
    noted: Iterable[Written],
    sizes: Iterable[Written],
    compared: Iterable[Written],
    env: Env,
    effective: Sequence[str],
    groups: Sequence[Parallel] = (),
) -> Staged:
    """What may be said of a stage."""
    lists = [k for k in effective if isinstance(env.get(k), list)]
    longest = max((len(env[k]) for k in lists), default=0)
    terms: dict[str, Written] = {}

    def add(written: Written) -> None:
        terms.setdefault(repr(written), written)

    entries: list[Written] = []
    for place in PLACES[:1]:
        for key in lists:
            if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in env[key]):
                entries += [["[]", key, _moved(place, by)] for by in (0, -1, 1)]
    for written in entries:
        add(written)
    turned = _turned(sizes, longest)
    for written in turned:
        add(written)
    for written in _turned([w for w in noted if size_of(w) <= 15], longest):
        add(written)
    for written in [*entries, *turned]:
        if size_of(written) <= 11:
            for n in (2, 3, 4):
                add(["*", n, written])
                add(["//", written, n])
            add(["+", written, 1])
            add(["-", written, 1])
    plain = [k for k in effective if type(env.get(k)) is int]
    here = [e for e in entries if e[2] == PLACES[0]]
    for a, b in itertools.permutations(here, 2):
        add(["*", a, b])
        add(["//", a, b])
    if len(plain) <= 16:
        for a, key in itertools.product(here, plain):
            add(["*", a, key])
            add(["//", a, key])
            add(["+", a, key])
    conditions = _turned(compared, longest)
    for key in lists:
        values = {repr(v): v for v in env[key] if isinstance(v, (str, bool))}
        conditions += [["kind", key, v, PLACES[0]] for v in values.values()]
    for written in here:
        conditions += [["<", 1, written], ["<", 0, written], ["==", written, 1]]
    for key in lists:
        conditions.append(["==", ["[]", key, _moved(PLACES[0], -1)], ["[]", key, PLACES[0]]])
    conditions += [["==", PLACES[0], n] for n in (1, 2)]
    conditions += [["in", PLACES[0], key] for key in lists]
    counts: list[Written] = [["len", key] for group in groups for key in group.lists]
    counts += [key for group in groups for key in group.counts]
    once = {repr(c): c for c in conditions}
    return Staged(list(terms.values()), list(once.values()), counts)


def of_the_last(noted: Iterable[Written], env: Env, groups: Iterable[Parallel]) -> list[Written]:
    """Sizes at the end of the base's stages, for any number of them; and how many stages there are
    where one list is shorter than another."""
    terms: dict[str, Written] = {}
    for group in groups:
        for a, b in itertools.combinations(group.lists, 2):
            terms[f"{a} {b}"] = ["min", ["len", a], ["len", b]]
        last = ["-", ["len", group.lists[0]], 1]
        for written in noted:
            if size_of(written) <= 13:
                for form in _forms(written, group.length - 1):
                    if PLACES[0] in _names(form):
                        turned = _with(form, last)
                        terms.setdefault(repr(turned), turned)
    return list(terms.values())


def _turned(some: Iterable[Written], longest: int) -> list[Written]:
    """Expressions of one stage as those of any."""
    terms: dict[str, Written] = {}
    for written in itertools.islice(sorted(some, key=size_of), _MOST):
        for stage in range(min(longest, 4)):
            for form in _forms(written, stage):
                if PLACES[0] in _names(form):
                    terms.setdefault(repr(form), form)
    return list(terms.values())


def _forms(written: Written, stage: int) -> list[Written]:
    """An expression that was computed at a stage, with each part that may come from its number."""
    if type(written) is int:
        powers = [by for by in (-1, 0, 1) if stage + by > 0 and written == 2 ** (stage + by)]
        return [written, *(["**", 2, _moved(PLACES[0], by)] for by in powers)]
    if not isinstance(written, list):
        return [written]
    op, *terms = written
    if op == "[]":
        by = terms[1] - stage if type(terms[1]) is int else None
        return [[op, terms[0], _moved(PLACES[0], by)]] if by in (-1, 0, 1) else [written]
    if op in ("pair", "len", "sum", "**"):
        return [written]
    inside = itertools.product(*(_forms(term, stage) for term in terms))
    return [[op, *parts] for parts in itertools.islice(inside, _FORMS)]


def _moved(place: str, by: int) -> Written:
    return ["+" if by > 0 else "-", place, abs(by)] if by else place


def _with(written: Written, last: Written) -> Written:
    """The number of the last stage in place of a stage's."""
    if written == PLACES[0]:
        return last
    if not isinstance(written, list):
        return written
    if written[0] == "[]":
        shift = written[2]
        if type(shift) is int:
            return written
        by = 0 if isinstance(shift, str) else shift[2] * (1 if shift[0] == "+" else -1)
        return ["[]", written[1], by - 1] if type(by) is int and by < 1 else written
    return [written[0], *(_with(part, last) for part in written[1:])]


def _names(written: Written) -> Iterator[str]:
    if isinstance(written, str):
        yield written
    elif isinstance(written, list):
        for part in written[1:]:
            yield from _names(part)
