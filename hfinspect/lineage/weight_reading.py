"""Weights of two checkpoints next to each other: samples of each tensor, or all bytes.

Bytes are compared, never interpreted: equal bytes are equal weights, and of bytes that differ the
elements are counted. Memory is that of two chunks.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple

from ..analysis.differences import by_common_name, folded_name
from ..core.checkpoint import Checkpoint
from ..core.components import Component
from ..core.progress import Count, Progress
from ..core.tensor import StoredTensor, TensorInfo
from ..core.weight_changes import (
    SAMPLE_BYTES,
    ChangedTensors,
    ReadingCost,
    WeightChanges,
    verdict_of,
)
from ..errors import HfinspectError, UnreadableError, UsageError
from ..inspecting.build import Inspected
from ..sources.source import Source

#: Bytes of one element, of dtypes whose elements are whole bytes.
WIDTHS: Final = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
}


class ByteRange(NamedTuple):
    """The bytes of a tensor: ``start`` in the file, ``nbytes`` from there on."""

    file: str
    start: int
    nbytes: int


class TensorPair(NamedTuple):
    """One tensor in both models. ``group`` is its name with the layer's number as ``N``."""

    tensor: TensorInfo
    group: str
    here: ByteRange
    there: ByteRange

    @property
    def element(self) -> int:
        """Bytes of one element; 1 where elements are packed."""
        return WIDTHS.get(self.tensor.dtype or "", 1)


class TensorPairs(NamedTuple):
    """What can be compared, in the order of the files, and reason -> tensors that cannot."""

    pairs: list[TensorPair]
    not_compared: dict[str, int]


def pairs_of(first: Inspected, other: Inspected) -> TensorPairs:
    """Tensors of one name, shape and dtype in both."""
    mine = by_common_name(first.inspection, first.prediction)
    theirs = by_common_name(other.inspection, other.prediction)
    here = _places(first.checkpoint)
    there = _places(other.checkpoint)
    reasons: Counter[str] = Counter()
    pairs: list[TensorPair] = []
    for name, tensor in mine.items():
        twin = theirs.get(name)
        if twin is None:
            reasons["only in the first model"] += 1
        elif (tensor.shape, tensor.dtype) != (twin.shape, twin.dtype):
            reasons["of another shape or dtype"] += 1
        else:
            a = here.get((tensor.file, tensor.name))
            b = there.get((twin.file, twin.name))
            if a is None or b is None or a.nbytes != b.nbytes:
                reasons["in a format whose headers do not say where a tensor begins"] += 1
            else:
                pairs.append(TensorPair(tensor, folded_name(tensor), a, b))
    reasons["only in the other model"] += sum(name not in mine for name in theirs)
    pairs.sort(key=lambda pair: pair.here)
    return TensorPairs(pairs, {reason: count for reason, count in reasons.items() if count})


def _places(checkpoint: Checkpoint | None) -> Mapping[tuple[str | None, str], ByteRange]:
    if checkpoint is None:
        return {}
    return {
        (shard.file, tensor.name): ByteRange(shard.file, tensor.offset, tensor.nbytes)
        for shard in checkpoint.shards
        for tensor in shard.tensors
        if tensor.offset is not None and _is_plain(tensor)
    }


def _is_plain(tensor: StoredTensor) -> bool:
    return tensor.storage is None and tensor.nbytes > 0


#: Read at once from either file.
CHUNK_BYTES: Final = 4 * 1024 * 1024
#: Samples of one file that are requested together.
_TOGETHER: Final = 32

#: Called with what will be read before anything is.
Announce = Callable[[ReadingCost], None]


class ModelWithBytes(NamedTuple):
    """A model that was read, and where its bytes come from."""

    source: Source
    inspected: Inspected


class _Outcome(NamedTuple):
    """``elements`` that differ; None where only a sample was read."""

    differs: bool
    elements: int | None


def sampled(
    first: ModelWithBytes,
    other: ModelWithBytes,
    announce: Announce | None = None,
    progress: Progress | None = None,
) -> WeightChanges:
    """``SAMPLE_BYTES`` from the middle of every tensor of both models. Raises AccessError."""
    comparable = _comparable(first, other)
    cost = sample_cost(comparable.pairs, first.source, other.source)
    if announce is not None:
        announce(cost)
    places = {pair.here for pair in comparable.pairs}, {pair.there for pair in comparable.pairs}
    count = Count("samples", progress)
    count.expect(sum(map(len, places)))
    here, there = (
        _samples(model.source, inside, count)
        for model, inside in zip((first, other), places, strict=True)
    )
    outcomes = [_Outcome(here[pair.here] != there[pair.there], None) for pair in comparable.pairs]
    return _summed("sample", cost, comparable, outcomes)


def compared_whole(
    first: ModelWithBytes,
    other: ModelWithBytes,
    announce: Announce | None = None,
    progress: Progress | None = None,
) -> WeightChanges:
    """All bytes of both models, which have to lie on this machine. Raises UsageError where they do
    not, and AccessError."""
    for model in (first, other):
        if model.source.on_disk is None:
            raise UsageError(
                model.inspected.inspection.target,
                "is on the Hub, and --values reads whole files",
                expected="models on this machine",
                hint="a sample of each tensor can be compared: 4 kB by range",
            )
    comparable = _comparable(first, other)
    nbytes = sum(pair.here.nbytes for pair in comparable.pairs)
    cost = ReadingCost(len(comparable.pairs), 2 * nbytes, 0)
    if announce is not None:
        announce(cost)
    outcomes = []
    done = 0
    for pair in comparable.pairs:
        outcome = _Outcome(False, 0)
        for a, b in _chunks(first.source, other.source, pair):
            if a != b:
                differing = differing_elements(a, b, pair.element)
                outcome = _Outcome(True, (outcome.elements or 0) + differing)
            done += len(a) + len(b)
            if progress is not None:
                progress("values", done, cost.nbytes)
        outcomes.append(outcome)
    return _summed("values", cost, comparable, outcomes)


def _comparable(first: ModelWithBytes, other: ModelWithBytes) -> TensorPairs:
    for model in (first, other):
        if model.inspected.checkpoint is None:
            raise UsageError(
                model.inspected.inspection.target,
                "has no weight headers that were read, so no weights can be compared",
                expected="a model with safetensors or GGUF files",
            )
    return pairs_of(first.inspected, other.inspected)


# ---- samples


def sample_of(place: ByteRange) -> tuple[int, int]:
    """Where a tensor's sample begins and ends in the file: its middle, from a multiple of 64."""
    if place.nbytes <= SAMPLE_BYTES:
        return place.start, place.start + place.nbytes
    start = place.start + (place.nbytes - SAMPLE_BYTES) // 2 // 64 * 64
    return start, start + SAMPLE_BYTES


def sample_cost(pairs: Iterable[TensorPair], *sources: Source) -> ReadingCost:
    """Exact bytes, and requests at most: one a sample, where no server joins ranges."""
    known = list(pairs)
    nbytes = sum(min(pair.here.nbytes, SAMPLE_BYTES) for pair in known)
    remote = sum(source.on_disk is None for source in sources)
    return ReadingCost(len(known), 2 * nbytes, remote * len(known))


def _samples(
    source: Source, places: Iterable[ByteRange], count: Count
) -> Mapping[ByteRange, bytes]:
    tasks = []
    for file, inside in groupby(sorted(places), key=lambda place: place.file):
        known = list(inside)
        tasks += [
            partial(_of_file, source, file, known[at : at + _TOGETHER], count)
            for at in range(0, len(known), _TOGETHER)
        ]
    samples: dict[ByteRange, bytes] = {}
    for result in source.gather(tasks):
        if isinstance(result, HfinspectError):
            raise result
        samples.update(result)
    return samples


def _of_file(
    source: Source, file: str, places: list[ByteRange], count: Count
) -> dict[ByteRange, bytes]:
    spans = [sample_of(place) for place in places]
    read = source.read_spans(file, spans)
    for (start, stop), data in zip(spans, read, strict=True):
        _check_length(file, data, stop - start)
    count.add(len(places))
    return dict(zip(places, read, strict=True))


def _check_length(file: str, data: bytes, expected: int) -> None:
    if len(data) != expected:
        raise UnreadableError(
            file, f"ends after {len(data):,} bytes of a tensor", expected=f"{expected:,} bytes"
        )


# ---- all bytes


def _chunks(first: Source, other: Source, pair: TensorPair) -> Iterator[tuple[bytes, bytes]]:
    size = pair.here.nbytes
    for at in range(0, size, CHUNK_BYTES):
        length = min(CHUNK_BYTES, size - at)
        a = first.read(pair.here.file, pair.here.start + at, pair.here.start + at + length)
        b = other.read(pair.there.file, pair.there.start + at, pair.there.start + at + length)
        _check_length(pair.here.file, a, length)
        _check_length(pair.there.file, b, length)
        yield a, b


def differing_elements(a: bytes, b: bytes, width: int) -> int:
    """Elements of ``width`` bytes that differ; both have one length, of whole elements."""
    different = int.from_bytes(a, "little") ^ int.from_bytes(b, "little")
    marks = different.to_bytes(len(a), "little")
    if width > 1:
        merged = 0
        for byte in range(width):
            merged |= int.from_bytes(marks[byte::width], "little")
        marks = merged.to_bytes(len(a) // width, "little")
    return len(marks) - marks.count(0)


# ---- by name, over the layers


def _summed(
    method: str, cost: ReadingCost, comparable: TensorPairs, outcomes: list[_Outcome]
) -> WeightChanges:
    groups: dict[str, list[tuple[TensorPair, _Outcome]]] = {}
    for pair, outcome in zip(comparable.pairs, outcomes, strict=True):
        groups.setdefault(pair.group, []).append((pair, outcome))
    changed = tuple(_group(name, members) for name, members in groups.items())
    return WeightChanges(method, cost, verdict_of(changed), changed, comparable.not_compared)


def _group(name: str, members: list[tuple[TensorPair, _Outcome]]) -> ChangedTensors:
    tensor = members[0][0].tensor
    differing = {p.tensor.layer for p, o in members if o.differs} - {None}
    same = {p.tensor.layer for p, _ in members} - {None} - differing
    counts = [o.elements for _, o in members]
    return ChangedTensors(
        name,
        str(tensor.component),
        tuple(sorted(layer for layer in same if layer is not None)),
        tuple(sorted(layer for layer in differing if layer is not None)),
        len(members),
        sum(o.differs for _, o in members),
        None if None in counts else sum(count or 0 for count in counts),
        len(tensor.shape) > 1 and tensor.component is not Component.NORM,
    )
