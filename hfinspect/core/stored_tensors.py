"""The tensors of a file, those that differ in numbers of their names alone said once.

The 91,991 names of DeepSeek-V3's files are some fifty patterns. A pattern with its dtype and shape
is kept once; of a tensor only which of them it is, the numbers in its name, and where it is in the
file: some twenty bytes. ``StoredTensor`` objects are made when someone looks at one.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, count, repeat
from math import prod
from typing import Any, NamedTuple

from .lazy_sequence import LazySequence
from .tensor import StoredForm, StoredTensor

#: Stands in a pattern for a number: a pattern is a template for ``%``.
MARK = "%d"

#: So many numbers of a name are taken out, the first ones; three fit into 64 bits.
MOST_NUMBERS = 3

#: Bits of a number in a key.
NUMBER_BITS = 20

#: A number between dots, written as ``str`` writes it, so that it can be put back. More digits are
#: a name, and no number. A digit comes first: that is looked for four times as fast.
_NUMBER = re.compile(r"([0-9](?<![^.\n][0-9])(?:(?<!0)[0-9]{0,5})?(?![^.\n]))")

#: The same in a name whose digits are all zeros.
_MASKED = re.compile(r"(?<![^.])0{1,6}(?![^.])")
_ZEROS = bytes.maketrans(b"0123456789", b"0" * 10)
#: What only looks like a number, as no number begins with a zero.
_PADDED = re.compile(r"\.0[0-9]")

_LOW = (1 << NUMBER_BITS) - 1


class _Mask(NamedTuple):
    """What names have in common that differ in digits alone: their pattern, None where it is to be
    put together of what lies ``around`` their numbers; and where the numbers are, again as
    ``first`` and ``second`` where there are no more."""

    pattern: str | None
    around: tuple[slice, ...]
    numbers: tuple[slice, ...]
    first: slice | None
    second: slice | None


@lru_cache(4096)
def _mask(text: bytes) -> _Mask:
    """Of a name, after a dot, with zeros for its digits."""
    mask = text.decode()[1:]
    spans = [match.span() for match in _MASKED.finditer(mask)][:MOST_NUMBERS]
    stops = [0, *(stop for _, stop in spans)]
    around = tuple(map(slice, stops, [*(start for start, _ in spans), len(mask)]))
    pattern = MARK.join(mask[part] for part in around)
    numbers = tuple(slice(*span) for span in spans)
    few = (*numbers, None, None) if len(numbers) <= 2 else (None, None)
    return _Mask(None if "0" in pattern else pattern, around, numbers, *few[:2])


def fold_names(names: Sequence[str]) -> tuple[list[str], list[int]]:
    """Of each name its pattern and its numbers, as one whole number (its key).

    ``unfold_name`` is the inverse: equal names have equal patterns and keys, different names differ
    in one of them.
    """
    text = "." + "\n.".join(names)
    is_plain = text.isascii() and "%" not in text and text.count("\n") == len(names) - 1
    if not is_plain or _PADDED.search(text):
        return _fold_each(names)
    masked = text.encode().translate(_ZEROS).split(b"\n")
    known = {mask: _mask(mask) for mask in set(masked)}
    masks = list(map(known.__getitem__, masked))
    bits = NUMBER_BITS
    keys = [
        int(name[first]) << bits | int(name[second])
        if first and second
        else int(name[first])
        if first
        else key_of(int(name[number]) for number in numbers)
        if numbers
        else 0
        for name, (_, _, numbers, first, second) in zip(names, masks, strict=True)
    ]
    return [mask[0] or _around(name, mask) for name, mask in zip(names, masks, strict=True)], keys


def _around(name: str, mask: _Mask) -> str:
    return MARK.join([name[part] for part in mask.around])


def _fold_each(names: Iterable[str]) -> tuple[list[str], list[int]]:
    folded = list(map(_fold_one, names))
    return [pattern for pattern, _ in folded], [key for _, key in folded]


def _fold_one(name: str) -> tuple[str, int]:
    """Of any name, so that what is next to it changes nothing: no number is taken out of one of
    several lines, and the first ones out of one with too many."""
    text = name.replace("%", "%%")
    key = 0
    if "\n" in name:
        return text, key
    for number in _NUMBER.findall(text)[:MOST_NUMBERS]:
        key = key << NUMBER_BITS | int(number)
    return _NUMBER.sub(MARK, text, count=MOST_NUMBERS), key


def unfold_name(pattern: str, key: int) -> str:
    """The name of this pattern and key."""
    return pattern % numbers_of(key, width_of(pattern))


def longest_name(pattern: str, keys: Iterable[int]) -> str:
    """A name of this pattern that none of those with these keys is longer than."""
    left = set(keys)
    greatest = []
    for _ in range(width_of(pattern)):
        greatest.append(max(map(_LOW.__and__, left)))
        left = {key >> NUMBER_BITS for key in left}
    return pattern % tuple(reversed(greatest))


def width_of(pattern: str) -> int:
    """How many numbers were taken out of each name of a pattern."""
    return pattern.replace("%%", "").count(MARK)


def texts_of(pattern: str) -> list[str]:
    """What stands before, between and after the numbers of a pattern."""
    if "%%" not in pattern:
        return pattern.split(MARK)
    texts = [""]
    for piece in _PIECE.findall(pattern):
        if piece == MARK:
            texts.append("")
        else:
            texts[-1] += "%" if piece == "%%" else piece
    return texts


_PIECE = re.compile("%%|%d|[^%]+")


def split_at_number(text: str) -> tuple[str, int, str] | None:
    """What comes before the first number of a name, the number, and what comes after; None where
    there is none."""
    match = _NUMBER.search(text)
    return match and (text[: match.start()], int(match[0]), text[match.end() :])


def key_of(numbers: Iterable[int]) -> int:
    """The key of some numbers."""
    key = 0
    for number in numbers:
        key = key << NUMBER_BITS | number
    return key


def numbers_of(key: int, width: int) -> tuple[int, ...]:
    """The ``width`` numbers of a key."""
    return tuple(key >> NUMBER_BITS * at & _LOW for at in reversed(range(width)))


class StoredKind(NamedTuple):
    """What tensors have in common that differ in numbers of their names alone; see
    ``StoredTensor`` for the rest."""

    pattern: str
    dtype: str
    shape: tuple[int, ...]
    elements: int
    nbytes: int


class StoredTensors(LazySequence[StoredTensor]):
    """The tensors of a safetensors header in its order; equal to the tuple of them.

    ``kinds`` are their kinds, ``kind_numbers`` says of each tensor the number of its kind, and
    ``keys`` has for each kind the keys of its tensors, in order. ``offsets`` are those of the data
    from ``start`` on; None where the tensors lie one after the other. ``start`` is None where
    nobody knows where in the file they are."""

    def __init__(
        self,
        kinds: Sequence[StoredKind],
        kind_numbers: Sequence[int],
        keys: Sequence[Sequence[int]],
        start: int | None,
        offsets: Sequence[int] | None = None,
    ) -> None:
        self.kinds = tuple(kinds)
        self.kind_numbers = kind_numbers
        self.keys = tuple(keys)
        self.start = start
        self.own_offsets = offsets

    @classmethod
    def of_columns(
        cls,
        names: Sequence[str],
        forms: Sequence[Hashable],
        meaning: Mapping[Any, StoredForm],
        sizes: Iterable[int],
        starts: Sequence[int] | None,
        base: int,
    ) -> "StoredTensors":
        """From columns: ``meaning`` has each of ``forms``, no two of which mean the same; ``sizes``
        are bytes, ``starts`` offsets from ``base`` on, None where one lies after the other."""
        patterns, keys = fold_names(names)
        numbers: defaultdict[tuple[str, Hashable, int], int] = defaultdict(count().__next__)
        rows = zip(patterns, forms, sizes, strict=True)
        kind_numbers = array("I", map(numbers.__getitem__, rows))
        grouped: list[list[int]] = [[] for _ in numbers]
        for kind, key in zip(kind_numbers, keys, strict=True):
            grouped[kind].append(key)
        kinds = []
        for pattern, form, nbytes in numbers:
            dtype, shape = meaning[form]
            kinds.append(StoredKind(pattern, dtype, shape, prod(shape), nbytes))
        stored = cls(kinds, kind_numbers, [array("Q", numbers) for numbers in grouped], base)
        if starts is not None and list(starts) != stored.starts():
            stored.own_offsets = array("Q", starts)
        return stored

    def _one_after_the_other(self) -> Iterator[int]:
        sizes = [kind.nbytes for kind in self.kinds]
        return accumulate(map(sizes.__getitem__, self.kind_numbers), initial=0)

    def starts(self) -> list[int]:
        """Where each tensor begins, from ``start`` on."""
        if self.own_offsets is not None:
            return list(self.own_offsets)
        starts = list(self._one_after_the_other())
        starts.pop()
        return starts

    def sizes(self) -> list[int]:
        """The bytes of each tensor."""
        sizes = [kind.nbytes for kind in self.kinds]
        return list(map(sizes.__getitem__, self.kind_numbers))

    @property
    def in_order(self) -> bool:
        """Whether they lie one after the other, from ``start`` on."""
        return self.own_offsets is None

    @property
    def nbytes(self) -> int:
        """Of all tensors."""
        pairs = zip(self.kinds, self.keys, strict=True)
        return sum(kind.nbytes * len(keys) for kind, keys in pairs)

    def names(self) -> Iterator[str]:
        """Their names, in order."""
        return names_of([kind.pattern for kind in self.kinds], self.keys, self.kind_numbers)

    def without_offsets(self) -> "StoredTensors":
        """The same, at places that nobody knows."""
        return StoredTensors(self.kinds, self.kind_numbers, self.keys, None)

    def make_items(self) -> Iterable[StoredTensor]:
        kinds = list(map(self.kinds.__getitem__, self.kind_numbers))
        if not kinds:
            return ()
        _, dtypes, shapes, elements, sizes = zip(*kinds, strict=True)
        start = self.start
        places: Iterable[int | None] = repeat(None)
        if start is not None:
            places = map(start.__add__, self.starts())
        columns = (self.names(), dtypes, shapes, elements, sizes, places, repeat(None))
        return map(tuple.__new__, repeat(StoredTensor), zip(*columns))  # noqa: B905 - repeat

    def __len__(self) -> int:
        return len(self.kind_numbers)


def names_of(
    patterns: Sequence[str], keys: Sequence[Sequence[int]], kind_numbers: Iterable[int]
) -> Iterator[str]:
    """The names of several patterns, each with its keys, in the order of ``kind_numbers``."""
    left = list(map(_names, patterns, keys))
    return map(next, map(left.__getitem__, kind_numbers))


def _names(pattern: str, keys: Sequence[int]) -> Iterator[str]:
    """The names of one pattern."""
    width = width_of(pattern)
    if width == 1:
        return map(pattern.__mod__, keys)
    if width == 0:
        return repeat(pattern % (), len(keys))
    return (pattern % numbers_of(key, width) for key in keys)


def known_distinct(files: Iterable[Sequence[StoredTensor]]) -> bool:
    """Whether no two tensors of some files have one name, as far as that shows without making
    them; where it does not, False."""
    columns = list(files)
    stored = [tensors for tensors in columns if isinstance(tensors, StoredTensors)]
    return len(stored) == len(columns) and are_distinct(
        (kind.pattern, keys)
        for tensors in stored
        for kind, keys in zip(tensors.kinds, tensors.keys, strict=True)
    )


def are_distinct(groups: Iterable[tuple[str, Sequence[int]]]) -> bool:
    """Whether no two names of some patterns with their keys are equal."""
    by_pattern: dict[str, list[Sequence[int]]] = {}
    for pattern, keys in groups:
        by_pattern.setdefault(pattern, []).append(keys)
    return all(
        len(set(chain.from_iterable(keys))) == sum(map(len, keys)) for keys in by_pattern.values()
    )
