"""Which tensors of a checkpoint are alike, so that one of them is looked at for all.

Layers are alike whose tensors have the same names within the layer, dtypes and shapes, and of which
the config predicts the same; so are the experts within a layer. What is alike has equal labels,
equal quantisation and equal differences from the prediction, for these follow from the words of a
name, from what stands next to it, and from the tree. So one layer of each kind is looked at, with
one expert of each kind in it, and counts for all.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Final, TypeAlias, TypeVar

from ..core.checkpoint import Shard
from ..core.stored_tensors import (
    NUMBER_BITS,
    StoredKind,
    StoredTensors,
    are_distinct,
    texts_of,
    width_of,
)
from ..trees.prediction import Prediction
from .folded_table import Alike, FoldedTable
from .labels.routing import Routing, is_list_of_experts
from .predicted_numbers import Numbers, numbers_predicted
from .tensor_table import NotAlikeError, TensorTable

T = TypeVar("T")

#: So many kinds, or layers, are not worth a fold if they are more than half of the tensors: names
#: of somebody who wants it to take long. A million of such names take 1.7 GB.
MANY_KINDS: Final = 10_000

#: Keys in order: all from one to another, or those of an ``array("Q")``.
_Keys: TypeAlias = Sequence[int]
#: The same, to be compared: the first and the last, or the bytes of the array.
_CompressedKeys: TypeAlias = "tuple[int, int] | bytes"
#: A kind of tensors: its number, what of its names is left to be split, and the keys of that.
_NameGroup: TypeAlias = tuple[int, Sequence[str], _Keys]


def answered_by_groups(
    shards: Sequence[Shard],
    prediction: Prediction | None,
    routing: Routing | None,
    answer: Callable[[TensorTable], T],
) -> T:
    """The ``answer`` to a table of the tensors in groups of those that are alike; where they turn
    out not to be, to one of each tensor by itself."""
    table = fold_tensors(shards, prediction, routing)
    if table is not None:
        with suppress(NotAlikeError):
            return answer(table)
    return answer(TensorTable(shards))


def fold_tensors(
    shards: Sequence[Shard], prediction: Prediction | None, routing: Routing | None = None
) -> FoldedTable | None:
    """The tensors that are alike, next to what is predicted of them; None where each has to be
    looked at: a name is there twice, hardly two differ in numbers alone, or it is not a format
    whose tensors are known to be no views of each other.

    ``routing`` is that of the config: which numbers are experts that serve a token depends on it.
    """
    keys: dict[StoredKind, list[Sequence[int]]] = {}
    for shard in shards:
        if not isinstance(shard.tensors, StoredTensors):
            return None
        for kind, numbers in zip(shard.tensors.kinds, shard.tensors.keys, strict=True):
            keys.setdefault(kind, []).append(numbers)
    predicted = numbers_predicted(prediction)
    total = sum(len(shard.tensors) for shard in shards)
    many = max(total // 2, MANY_KINDS)
    if predicted is None or len(keys) > many:
        return None
    if any(_has_more_numbers(kind, parts, many) for kind, parts in keys.items()):
        return None
    if not are_distinct((kind.pattern, part) for kind, parts in keys.items() for part in parts):
        return None
    groups = [
        (at, texts_of(kind.pattern), sorted(chain.from_iterable(parts)))
        for at, (kind, parts) in enumerate(keys.items())
    ]
    return FoldedTable(shards, tuple(keys), list(_split(groups, "", (), predicted, routing)))


def _has_more_numbers(kind: StoredKind, parts: Sequence[Sequence[int]], many: int) -> bool:
    """Whether the names have more than so many first numbers, with others after them: so many
    layers no model has, and each would be looked at by itself."""
    width = width_of(kind.pattern)
    if width < 2 or sum(map(len, parts)) <= many:
        return False
    shift = NUMBER_BITS * (width - 1)
    return len({key >> shift for key in chain.from_iterable(parts)}) > many


def _split(
    groups: Iterable[_NameGroup],
    name: str,
    numbers: tuple[tuple[int, ...], ...],
    predicted: Numbers,
    routing: Routing | None,
) -> Iterator[Alike]:
    """What is alike of tensors whose names begin with ``name``, or as that with others of the
    ``numbers``."""
    by_head: dict[str, list[_NameGroup]] = {}
    for kind, texts, keys in groups:
        if len(texts) == 1:
            yield Alike(kind, numbers, name + texts[0])
        else:
            by_head.setdefault(texts[0], []).append((kind, texts[1:], keys))
    for head, entries in by_head.items():
        rests = {kind: texts for kind, texts, _ in entries}
        experts = routing if routing and is_list_of_experts(head) else None
        alike: dict[object, list[int]] = {}
        parts_of = _below_numbers(entries)
        for number, parts in parts_of.items():
            is_one = experts is not None and number < experts[1]
            key = (*parts, predicted.below(head, number), is_one)
            alike.setdefault(key, []).append(number)
        for same in alike.values():
            inner = [
                (kind, rests[kind], _keys(compressed)) for kind, compressed in parts_of[same[0]]
            ]
            below = predicted.inside(head, same[0])
            places = (*numbers, tuple(same))
            yield from _split(inner, f"{name}{head}{same[0]}", places, below, routing)


def _below_numbers(groups: Iterable[_NameGroup]) -> dict[int, list[tuple[int, _CompressedKeys]]]:
    """What stands below each number: kinds, and the keys of the rest of their names."""
    below: dict[int, list[tuple[int, _CompressedKeys]]] = {}
    for kind, texts, keys in groups:
        shift = NUMBER_BITS * (len(texts) - 1)
        if not shift:
            nothing = (kind, (0, 0))
            for number in keys:
                below.setdefault(number, []).append(nothing)
            continue
        at = 0
        while at < len(keys):
            number = keys[at] >> shift
            end = bisect_left(keys, (number + 1) << shift, at)
            below.setdefault(number, []).append(
                (kind, _compressed_keys(keys[at:end], number << shift))
            )
            at = end
    return below


def _compressed_keys(keys: _Keys, base: int) -> _CompressedKeys:
    first = keys[0] - base
    last = keys[-1] - base
    if last - first == len(keys) - 1:  # no key is there twice
        return first, last
    return array("Q", (key - base for key in keys)).tobytes()


def _keys(compressed: _CompressedKeys) -> _Keys:
    if isinstance(compressed, bytes):
        return array("Q", compressed)
    return range(compressed[0], compressed[1] + 1)
