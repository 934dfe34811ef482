"""A checkpoint under the names that its class gives to its tensors.

Names are looked at in groups, those that differ in numbers alone: a wrapper's name has no number,
so what holds of one name of a group holds of all. Where nothing hints at a wrapper, nothing is
looked at but the first names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ..core.checkpoint import Checkpoint, Shard
from ..core.original_names import STARTS, hub_name
from ..core.records import dataclass
from ..core.stored_tensors import StoredTensors, fold_names, texts_of, unfold_name
from ..core.tensor import TensorSpec
from ..trees.prediction import Prediction
from .labels.lookup import spec_finder
from .renamings import ANYWHERE, BESIDE, IN_FRONT, WITHOUT_PREDICTION, Wrapper

_Find = Callable[[str], TensorSpec | None]

#: Segments of all wrappers in front of a name.
MAX_FRONTS: Final = 8
_CERTAIN = re.compile(
    r"(?:^|\.)(?:" + "|".join(re.escape(".".join(one.segments)) for one in ANYWHERE) + r")\.",
    re.MULTILINE,
)
_FRONT = re.compile(
    r"^(?:"
    + "|".join(re.escape(".".join(one.segments)) for one in IN_FRONT if one.segments != ("model",))
    + r"|model\.model\.model)\.",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Renamed:
    """What was renamed in a checkpoint.

    Fields:
        wrappers: whose names were taken off, in the order of the table
        patterns: of names as they are in the files -> as they are read
        tensors [tensors]: how many have another name in the files
        total [tensors]: of the files
        apart [tensors]: of these, how many belong to the wrapper and not to the class
        names: the first names, as they are in the files
        first: the first of them, as it is read
        original: whether the names in the files are those of Mistral's or Meta's code
    """

    wrappers: tuple[Wrapper, ...]
    patterns: Mapping[str, str]
    tensors: int
    total: int
    apart: int
    names: tuple[str, ...]
    first: str
    original: bool = False

    def of(self, name: str) -> str:
        """A name of the files as it is read; one that no file holds loses the same wrappers."""
        [pattern], [key] = fold_names([name])
        if pattern in self.patterns:
            return unfold_name(self.patterns[pattern], key)
        for wrapper in self.wrappers:
            if wrapper.anywhere:
                name = f".{name}".replace(f".{wrapper.prefix}", ".")[1:]
            else:
                name = name.removeprefix(wrapper.prefix)
        return (self.original and hub_name(name)) or name


#: RenamedNames that ``Renamed`` lists.
_LISTED: Final = 1000


def with_known_names(
    checkpoint: Checkpoint, prediction: Prediction | None
) -> tuple[Checkpoint, Renamed | None]:
    """The checkpoint without the names of wrappers, and what was renamed; the same checkpoint and
    None where nothing was, or where names are those of llama.cpp.

    ``prediction`` says how the class calls its tensors. Nothing is renamed to a name that the files
    have already: two copies stay apart.
    """
    if checkpoint.format == "gguf" or not _hints(checkpoint.shards, prediction):
        return checkpoint, None
    groups = _groups(checkpoint.shards)
    names = _RenamedNames(groups)
    wrappers = _unwrap(names, prediction)
    original = prediction is not None and _take_from_original(names, prediction)
    patterns = names.changed
    if not patterns:
        return checkpoint, None
    shards = tuple(_renamed_shard(shard, patterns) for shard in checkpoint.shards)
    return replace(checkpoint, shards=shards), _record(groups, patterns, wrappers, original)


# ---- whether to look at all


def _hints(shards: Sequence[Shard], prediction: Prediction | None) -> bool:
    """Whether a name begins as a wrapper's does, or the tree knows neither of two names."""
    first_names: list[str] = []
    for shard in shards:
        names = _some_names(shard)
        text = "\n".join(names)
        if _CERTAIN.search(text) or _FRONT.search(text) or STARTS.search(text):
            return True
        if names and len(first_names) < _ENDS:
            first_names += [names[0], names[-1]]
    if prediction is None:
        return False
    find = spec_finder(prediction)
    return not any(map(find, first_names))


#: So many names are looked for in the tree where no name hints at a wrapper.
_ENDS = 4


def _some_names(shard: Shard) -> list[str]:
    """One name of each pattern."""
    tensors = shard.tensors
    if not isinstance(tensors, StoredTensors):
        return [stored.name for stored in tensors]
    return [
        unfold_name(kind.pattern, keys[0])
        for kind, keys in zip(tensors.kinds, tensors.keys, strict=True)
        if len(keys)
    ]


# ---- names in groups


class _RenamedGroup(NamedTuple):
    """RenamedNames that differ in numbers alone."""

    pattern: str
    keys: Sequence[int]

    def examples(self) -> set[str]:
        """Two of its names: a pattern may be in the tree for some of its numbers."""
        return {unfold_name(self.pattern, key) for key in (self.keys[0], self.keys[-1])}


def _groups(shards: Sequence[Shard]) -> list[_RenamedGroup]:
    keys: dict[str, list[int]] = {}
    for shard in shards:
        tensors = shard.tensors
        if isinstance(tensors, StoredTensors):
            for kind, numbers in zip(tensors.kinds, tensors.keys, strict=True):
                keys.setdefault(kind.pattern, []).extend(numbers)
        else:
            folded = fold_names([stored.name for stored in tensors])
            for pattern, key in zip(*folded, strict=True):
                keys.setdefault(pattern, []).append(key)
    return [_RenamedGroup(pattern, numbers) for pattern, numbers in keys.items() if numbers]


# ---- wrappers


class _RenamedNames:
    """The patterns of a checkpoint as they are read, which may change as long as no two tensors get
    one name."""

    def __init__(self, groups: Iterable[_RenamedGroup]) -> None:
        self._keys = {group.pattern: group.keys for group in groups}
        self.now = {pattern: pattern for pattern in self._keys}
        self._taken = {pattern: set(keys) for pattern, keys in self._keys.items()}

    def change(self, pattern: str, new: str) -> bool:
        """Read the names of this pattern (of the files) otherwise; whether that was possible."""
        keys = self._keys[pattern]
        there = self._taken.get(new, set())
        if not new or not there.isdisjoint(keys):
            return False
        self._taken[self.now[pattern]].difference_update(keys)
        self._taken.setdefault(new, set()).update(keys)
        self.now[pattern] = new
        return True

    def group(self, pattern: str) -> _RenamedGroup:
        """The names of a pattern of the files as they are read now."""
        return _RenamedGroup(self.now[pattern], self._keys[pattern])

    @property
    def changed(self) -> dict[str, str]:
        return {old: new for old, new in self.now.items() if old != new}


def _unwrap(names: _RenamedNames, prediction: Prediction | None) -> tuple[Wrapper, ...]:
    met: dict[Wrapper, None] = {}
    for wrapper in ANYWHERE:
        inner = "." + wrapper.prefix
        for pattern in names.now:
            now = names.now[pattern]
            while inner in f".{now}":
                if not names.change(pattern, f".{now}".replace(inner, ".", 1)[1:]):
                    break
                met[wrapper] = None
                now = names.now[pattern]
    fronts = _known_fronts(names, prediction) if prediction else _common_fronts(names)
    met.update(dict.fromkeys(fronts))
    return tuple(met)


def _take_from_original(names: _RenamedNames, prediction: Prediction) -> bool:
    """Read names of Mistral's or Meta's code as those of the Hub, where the tree has these."""
    find = spec_finder(prediction)
    changes = []
    for pattern in names.now:
        group = names.group(pattern)
        new = hub_name(group.pattern)
        if new is None or _in_tree(group, find):
            continue
        if _in_tree(_RenamedGroup(new, group.keys), find):
            changes.append(names.change(pattern, new))
    return any(changes)


def _common_fronts(names: _RenamedNames) -> Iterator[Wrapper]:
    """Without a prediction: what stands before every name."""
    for wrapper in IN_FRONT:
        now = names.now
        if wrapper.segments not in WITHOUT_PREDICTION or not now:
            continue
        if all(pattern.startswith(wrapper.prefix) for pattern in now.values()):
            prefix = wrapper.prefix
            changes = [names.change(old, now[old].removeprefix(prefix)) for old in list(now)]
            if any(changes):
                yield wrapper


def _known_fronts(names: _RenamedNames, prediction: Prediction) -> Iterator[Wrapper]:
    """What stands before names that the tree has without it."""
    find = spec_finder(prediction)
    unknown = [pattern for pattern in names.now if not _in_tree(names.group(pattern), find)]
    votes: dict[str, int] = {}
    for pattern in unknown:
        prefix = _front_of(names.group(pattern), find)
        if prefix:
            votes[prefix] = votes.get(prefix, 0) + 1
    for prefix, wrappers in sorted(
        ((prefix, _wrappers_of(prefix)) for prefix in votes), key=lambda one: _rank(one[1])
    ):
        here = [pattern for pattern in unknown if names.now[pattern].startswith(prefix)]
        if any(not wrapper.maker for wrapper in wrappers) and not _is_all(
            names, here, votes[prefix]
        ):
            continue
        # The tree's own first: of two tensors that get one name, it is the tree's.
        known = {one for one in here if _is_known_without(prefix, names.group(one), find)}
        changes = [
            names.change(pattern, names.now[pattern].removeprefix(prefix))
            for pattern in sorted(here, key=lambda one: one not in known)
        ]
        if any(changes):
            yield from wrappers
            unknown = [pattern for pattern in unknown if pattern not in here]


def _is_all(names: _RenamedNames, here: Sequence[str], voted: int) -> bool:
    """Whether a prefix of nobody's stands before every name, and most are the tree's without it."""
    return len(here) == len(names.now) and 2 * voted > len(here)


def _in_tree(group: _RenamedGroup, find: _Find) -> bool:
    return any(find(name) is not None for name in group.examples())


def _front_of(group: _RenamedGroup, find: _Find) -> str | None:
    """What stands before names of a group that the tree has without it; it has no number.

    The tree may know a name with less of its front, as loaders repair some: what the table knows
    counts first, then what leaves just the tree's name.
    """
    head = texts_of(group.pattern)[0]
    known = _table_front(head)
    segments = head.split(".")[:-1]
    count = min(len(segments), MAX_FRONTS)
    shorter = [".".join((*segments[:at], "")) for at in range(1, count + 1)]
    fitting = [prefix for prefix in (known, *shorter) if _is_known_without(prefix, group, find)]
    if known and known in fitting:
        return known
    exact = (prefix for prefix in fitting if _is_exact_without(prefix, group, find))
    return next(exact, fitting[0] if fitting else None)


def _table_front(head: str) -> str:
    """The wrappers of the table that a name begins with, but for the plainest, `model`."""
    front = ""
    while True:
        rest = head.removeprefix(front)
        wrapper = next((one for one in IN_FRONT if rest.startswith(one.prefix)), None)
        if wrapper is None or wrapper.segments == ("model",):
            return front
        front += wrapper.prefix


def _is_exact_without(prefix: str, group: _RenamedGroup, find: _Find) -> bool:
    names = [name.removeprefix(prefix) for name in group.examples()]
    return any((spec := find(name)) is not None and spec.name == name for name in names)


def _is_known_without(prefix: str, group: _RenamedGroup, find: _Find) -> bool:
    return bool(prefix) and any(
        find(name.removeprefix(prefix)) is not None for name in group.examples()
    )


def _wrappers_of(prefix: str) -> tuple[Wrapper, ...]:
    """The wrappers of the table that a prefix consists of; one of nobody's for what is left."""
    wrappers: list[Wrapper] = []
    rest = prefix
    while rest:
        wrapper = next((one for one in IN_FRONT if rest.startswith(one.prefix)), None)
        if wrapper is None:
            return (*wrappers, Wrapper(tuple(rest.split(".")[:-1])))
        wrappers.append(wrapper)
        rest = rest.removeprefix(wrapper.prefix)
    return tuple(wrappers)


def _rank(wrappers: Sequence[Wrapper]) -> tuple[int, ...]:
    """Where the table has them, those of nobody's last."""
    return tuple(
        IN_FRONT.index(wrapper) if wrapper in IN_FRONT else len(IN_FRONT) for wrapper in wrappers
    )


# ---- the checkpoint under these names


def _renamed_shard(shard: Shard, patterns: Mapping[str, str]) -> Shard:
    tensors = shard.tensors
    if isinstance(tensors, StoredTensors):
        kinds = [
            kind._replace(pattern=patterns.get(kind.pattern, kind.pattern))
            for kind in tensors.kinds
        ]
        renamed = StoredTensors(
            kinds, tensors.kind_numbers, tensors.keys, tensors.start, tensors.own_offsets
        )
        return replace(shard, tensors=renamed)
    folded = fold_names([stored.name for stored in tensors])
    names = [
        unfold_name(patterns[pattern], key) if pattern in patterns else stored.name
        for stored, pattern, key in zip(tensors, *folded, strict=True)
    ]
    return replace(
        shard,
        tensors=tuple(
            stored._replace(name=name) for stored, name in zip(tensors, names, strict=True)
        ),
    )


def _record(
    groups: Sequence[_RenamedGroup],
    patterns: Mapping[str, str],
    wrappers: tuple[Wrapper, ...],
    original: bool,
) -> Renamed:
    renamed = [group for group in groups if group.pattern in patterns]
    names: list[str] = []
    for group in renamed:
        names += [unfold_name(group.pattern, key) for key in group.keys[: _LISTED - len(names)]]
    apart = [group for group in groups if is_beside(patterns.get(group.pattern, group.pattern))]
    first = renamed[0]
    return Renamed(
        wrappers,
        dict(patterns),
        sum(len(group.keys) for group in renamed if group not in apart),
        sum(len(group.keys) for group in groups),
        sum(len(group.keys) for group in apart),
        tuple(sorted(names)),  # in one order, however the tensors are grouped
        unfold_name(patterns[first.pattern], first.keys[0]),
        original,
    )


def is_beside(name: str) -> bool:
    """Whether a tensor belongs to a wrapper and not to the class: LoRA matrices, a value head."""
    return any(part in f".{name}" for part in (f".{one}".replace("..", ".") for one in BESIDE))
