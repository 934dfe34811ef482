"""The ``weight_map`` of an index, names that differ in numbers alone folded; read piece by piece.

The index of a million tensors has 90 MB. Decoded whole it takes ten times as much memory as folded,
so that its pieces are decoded one after the other. What is not of the usual form is left to the
decoder of whole texts, which also knows what is wrong with it.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, count
from typing import Final

from ..core.checkpoint import Shard
from ..core.stored_tensors import StoredTensors, are_distinct, fold_names, longest_name, names_of
from ..formats.strict_json import StrictJsonError, check_density, decode_pairs

#: Bytes that are decoded at once: some ten thousand names.
PIECE_BYTES: Final = 1 << 20

_KEY: Final = b'"weight_map"'
_OPENING = re.compile(rb"\s*:\s*\{")

#: No tensor's name is longer; a longer shard name is refused as a path.
MAX_NAME_LENGTH: Final = 4096

#: A pattern of names, and the shard that holds them.
_ShardPattern = tuple[str, str]


class FoldedMap(Mapping[str, str]):
    """Name -> shard, in the order of the index; no name is there twice.

    ``groups`` are patterns with their shards; ``group_numbers`` is the group of each name, and
    ``keys`` are the keys of each group's names, in order.
    """

    def __init__(
        self,
        groups: Sequence[_ShardPattern],
        group_numbers: Sequence[int],
        keys: Sequence[Sequence[int]],
    ) -> None:
        self.groups = tuple(groups)
        self.keys_of = tuple(keys)
        self._group_numbers = group_numbers

    @property
    def shards(self) -> set[str]:
        """All shards that it names."""
        return {shard for _, shard in self.groups}

    @cached_property
    def _dict(self) -> dict[str, str]:
        patterns = [pattern for pattern, _ in self.groups]
        shards = map([shard for _, shard in self.groups].__getitem__, self._group_numbers)
        return dict(zip(names_of(patterns, self.keys_of, self._group_numbers), shards, strict=True))

    def __getitem__(self, name: str) -> str:
        return self._dict[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._group_numbers)


#: The largest models come in a few hundred shards.
MAX_SHARDS: Final = 10_000


class TooManyShardsError(Exception):
    """An index names more shards than any model has; nothing further of it is read."""


def read_in_pieces(data: bytes, piece: int = PIECE_BYTES) -> tuple[bytes, FoldedMap] | None:
    """The index without the entries of its weight_map, and these; None where it is not of the usual
    form, be it that it is broken. ``piece`` bytes are decoded at once.
    Raises TooManyShardsError."""
    try:
        check_density(data)
        span = _entries(data)
        if span is None:
            return None
        start, stop = span
        rest = data[:start] + data[stop:]
        content = decode_pairs(rest)
        if not isinstance(content, tuple):
            return None
        maps = [value for key, value in content if key == "weight_map"]
        if maps != [()]:
            return None
        folded = _folded(_pieces(data, start, stop, piece))
    except StrictJsonError:
        return None
    return None if folded is None else (rest, folded)


def _entries(data: bytes) -> tuple[int, int] | None:
    """Where the entries begin and end. Without a backslash every quote begins or ends a string."""
    at = data.find(_KEY)
    opening = _OPENING.match(data, at + len(_KEY))
    if at < 0 or opening is None or data.find(_KEY, at + 1) >= 0:
        return None
    start = opening.end()
    stop = data.find(b"}", start)
    if stop < 0 or data.count(b'"', start, stop) % 2 or data.find(b"\\", start, stop) >= 0:
        return None
    return start, stop


def _pieces(
    data: bytes, start: int, stop: int, piece: int
) -> Iterator[Sequence[tuple[str, object]]]:
    """The entries, some at a time. A cut within a string leaves its piece without an end, which the
    decoder refuses. Raises StrictJsonError."""
    is_first = True
    while is_first or start <= stop:
        cut = data.find(b'",', start + piece, stop)
        end = stop if cut < 0 else cut + 1
        pairs = decode_pairs(b"{" + data[start:end] + b"}")
        if not isinstance(pairs, tuple) or not (pairs or is_first):
            raise StrictJsonError("not-json", "ends with a comma")
        yield pairs
        start = end + 1
        is_first = False


def _folded(parts: Iterable[Sequence[tuple[str, object]]]) -> FoldedMap | None:
    """None where something else than strings is there, or a name twice. Raises
    TooManyShardsError."""
    all_shards: set[object] = set()
    numbers: defaultdict[tuple[str, object], int] = defaultdict(count().__next__)
    group_numbers = array("I")
    grouped: list[array[int]] = []
    for pairs in parts:
        if not pairs:
            continue
        names, shards = zip(*pairs, strict=True)
        if set(map(type, shards)) != {str} or max(map(len, names)) > MAX_NAME_LENGTH:
            return None
        all_shards.update(shards)
        if len(all_shards) > MAX_SHARDS:
            raise TooManyShardsError
        patterns, keys = fold_names(names)
        groups = list(map(numbers.__getitem__, zip(patterns, shards, strict=True)))
        group_numbers.extend(groups)
        while len(grouped) < len(numbers):
            grouped.append(array("Q"))
        for group, key in zip(groups, keys, strict=True):
            grouped[group].append(key)
    groups_of = [(pattern, str(shard)) for pattern, shard in numbers]
    patterns_of = zip((pattern for pattern, _ in groups_of), grouped, strict=True)
    return FoldedMap(groups_of, group_numbers, grouped) if are_distinct(patterns_of) else None


def named_shards(weight_map: Mapping[str, str]) -> set[str]:
    """All shards that a map of tensors to shards names."""
    return weight_map.shards if isinstance(weight_map, FoldedMap) else set(weight_map.values())


def longest_names(weight_map: Mapping[str, str]) -> list[tuple[str, int, str]] | None:
    """Shards of a map, each several times: with a number of its tensors, and a name that the names
    of these are no longer than. None where the names themselves are at hand."""
    if not isinstance(weight_map, FoldedMap):
        return None
    return [
        (shard, len(keys), longest_name(pattern, keys))
        for (pattern, shard), keys in zip(weight_map.groups, weight_map.keys_of, strict=True)
    ]


def is_as_stored(weight_map: Mapping[str, str], shards: Iterable[Shard], folder: str) -> bool:
    """Whether an index in ``folder`` is known to name just the tensors that the shards hold, each
    where it is. False too where the names have to be compared one by one."""
    if not isinstance(weight_map, FoldedMap):
        return False
    in_shards: dict[_ShardPattern, list[Sequence[int]]] = {}
    for shard in shards:
        if not isinstance(shard.tensors, StoredTensors):
            return False
        file = shard.file[len(folder) :]
        for kind, keys in zip(shard.tensors.kinds, shard.tensors.keys, strict=True):
            in_shards.setdefault((kind.pattern, file), []).append(keys)
    keys_at = dict(zip(weight_map.groups, weight_map.keys_of, strict=True))
    return keys_at.keys() == in_shards.keys() and all(
        sorted(keys_at[at]) == sorted(chain.from_iterable(lists)) for at, lists in in_shards.items()
    )
