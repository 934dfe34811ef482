"""Tensors that are views of one storage: whose bytes are counted, and which name them again."""

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from ..core.checkpoint import Shard
from ..core.extents import Extent
from ..core.tensor import DTYPE_BITS, StoredTensor

#: Runs of bytes of one storage that are compared one by one. A model's fused matrix of 50,000 rows
#: split by columns into three has 150,000; beyond the bound, which only a made file reaches, each
#: tensor counts as all bytes from its first to its last.
MAX_RUNS = 400_000


class Sharing(NamedTuple):
    """What of a tensor is counted with another one: ``view_of`` is that one's name (None for a
    tensor that repeats its own bytes), then elements and bytes."""

    view_of: str | None
    elements: int
    nbytes: int


def sharing_of(shards: Sequence[Shard], tied: Container[str]) -> dict[int, Sharing]:
    """The tensors, by their position among those of all shards, of which some bytes are counted
    with another. Tensors that are not ``tied`` come first, then those that are first in the file.
    """
    sharing: dict[int, Sharing] = {}
    before = 0
    for shard in shards:
        storages: dict[str, list[tuple[int, StoredTensor, Extent]]] = {}
        for at, tensor in enumerate(shard.tensors, before):
            if tensor.storage is not None:
                item = (at, tensor, tensor.storage)
                storages.setdefault(tensor.storage.key, []).append(item)
        for items in storages.values():
            sharing.update(_sharing(items, tied))
        before += len(shard.tensors)
    return sharing


def stored_bytes(shards: Sequence[Shard]) -> int:
    """Bytes of all tensors, those of a shared storage once."""
    total = sum(tensor.nbytes for shard in shards for tensor in shard.tensors)
    return total - sum(item.nbytes for item in sharing_of(shards, ()).values())


def _sharing(
    items: Sequence[tuple[int, StoredTensor, Extent]], tied: Container[str]
) -> Iterable[tuple[int, Sharing]]:
    """Of the tensors of one storage."""
    if len(items) == 1:
        at, tensor, extent = items[0]
        size = extent.nbytes or tensor.nbytes
        if size < tensor.nbytes or tensor.elements > _elements(tensor, size):
            yield at, _counted(tensor, size, None)
        return
    claims = _Claims()
    distinct = {extent for _, _, extent in items}
    exact = sum(extent.pieces for extent in distinct) <= MAX_RUNS
    for at, tensor, extent in sorted(items, key=lambda item: item[1].name in tied):
        runs = extent.runs() if exact else ((extent.start, extent.stop),)
        size, other = claims.claim(extent, runs, tensor.name)
        if other is not None or size < tensor.nbytes:
            yield at, _counted(tensor, min(size, tensor.nbytes), other)


def _counted(tensor: StoredTensor, size: int, other: str | None) -> Sharing:
    return Sharing(other, tensor.elements - _elements(tensor, size), tensor.nbytes - size)


def _elements(tensor: StoredTensor, nbytes: int) -> int:
    """How many of a tensor's elements so many of its bytes are."""
    bits = DTYPE_BITS.get(tensor.dtype)
    if bits is None:
        return tensor.elements * nbytes // tensor.nbytes if tensor.nbytes else 0
    return min(nbytes * 8 // bits, tensor.elements)


class _Claims:
    """Intervals of bytes that do not overlap, in order, each with the tensor that came first."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.stops: list[int] = []
        self.owners: list[str] = []
        self.known: dict[Extent, str] = {}

    def claim(
        self, extent: Extent, runs: Iterable[tuple[int, int]], name: str
    ) -> tuple[int, str | None]:
        """How many bytes nobody had before, and a tensor that had some of the others."""
        if extent in self.known:
            return 0, self.known[extent]
        size = 0
        other = None
        for start, stop in runs:
            fresh, owner = self._claim_run(start, stop, name)
            size += fresh
            if owner != name:
                other = other or owner
        self.known[extent] = name
        return size, other

    def _claim_run(self, start: int, stop: int, name: str) -> tuple[int, str | None]:
        first = bisect_right(self.stops, start)
        last = bisect_left(self.starts, stop, lo=first)
        if first == last:  # nothing there: the usual case
            self.starts.insert(first, start)
            self.stops.insert(first, stop)
            self.owners.insert(first, name)
            return stop - start, None
        owner = next((o for o in self.owners[first:last] if o != name), name)
        gaps: list[tuple[int, int]] = []
        at = start
        for begin, end in zip(self.starts[first:last], self.stops[first:last], strict=True):
            if at < begin:
                gaps.append((at, begin))
            at = max(at, end)
        if at < stop:
            gaps.append((at, stop))
        if gaps:
            runs = zip(
                self.starts[first:last],
                self.stops[first:last],
                self.owners[first:last],
                strict=True,
            )
            merged = sorted([*runs, *((begin, end, name) for begin, end in gaps)])
            self.starts[first:last] = [begin for begin, _, _ in merged]
            self.stops[first:last] = [end for _, end, _ in merged]
            self.owners[first:last] = [owner for _, _, owner in merged]
        return sum(end - begin for begin, end in gaps), owner
