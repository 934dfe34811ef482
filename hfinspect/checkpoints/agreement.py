"""Whether the shards of a checkpoint fit together, and whether their index says the same."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter

from ..core.checkpoint import Finding, Shard, ShardIndex
from ..core.stored_tensors import known_distinct
from .folded_index import is_as_stored

#: So many names are given as examples.
_EXAMPLES = 3

_names_of = itemgetter(0)


def repeated_tensors(shards: Sequence[Shard]) -> list[Finding]:
    """Tensors that more than one shard holds: loaders take the one they read last."""
    if len(shards) < 2 or known_distinct(shard.tensors for shard in shards):
        return []
    total = sum(len(shard.tensors) for shard in shards)
    names: set[str] = set()
    for shard in shards:
        names.update(map(_names_of, shard.tensors))
    if len(names) == total:
        return []
    counts: Counter[str] = Counter()
    for shard in shards:
        counts.update(map(_names_of, shard.tensors))
    repeated = [name for name, count in counts.items() if count > 1]
    text = f"more than one shard holds {_examples(repeated)}"
    return [Finding("tensor-in-two-shards", text, None, repeated[0])]


def compare_with_index(
    shards: Sequence[Shard], index: ShardIndex, missing: Collection[str]
) -> list[Finding]:
    """Where the index and the shards disagree about which tensors there are, and where."""
    folder = index.file[: index.file.rfind("/") + 1]
    if is_as_stored(index.weight_map, shards, folder):
        return []
    in_shards: dict[str, str] = {}
    for shard in shards:
        file = shard.file[len(folder) :]
        in_shards.update(dict.fromkeys(map(_names_of, shard.tensors), file))
    in_index = index.weight_map
    if in_shards == in_index:
        return []
    absent = {path[len(folder) :] for path in missing}
    lost = [name for name, file in in_index.items() if name not in in_shards and file not in absent]
    extra = [name for name in in_shards if name not in in_index]
    moved = [name for name, file in in_index.items() if in_shards.get(name, file) != file]
    return [
        *_finding("tensor-not-in-shards", lost, index, "the index names, but no shard holds"),
        *_finding("tensor-not-in-index", extra, index, "a shard holds, but the index lacks"),
        *_finding("tensor-in-other-shard", moved, index, "the index puts into another shard"),
    ]


def _finding(rule: str, names: list[str], index: ShardIndex, what: str) -> Iterable[Finding]:
    if names:
        yield Finding(rule, f"{what} {_examples(names)}", index.file, names[0])


def _examples(names: list[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:_EXAMPLES])
    more = len(names) - _EXAMPLES
    return f"{shown} and {more:,} more tensors" if more > 0 else shown
