"""Tensors of two checkpoints that can be compared byte by byte, and where their bytes are."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from ..analysis.differences import by_common_name, folded_name
from ..core.checkpoint import Checkpoint
from ..core.tensor import StoredTensor, TensorInfo
from ..inspecting.build import Inspected

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
    here, there = _places(first.checkpoint), _places(other.checkpoint)
    reasons: Counter[str] = Counter()
    pairs: list[TensorPair] = []
    for name, tensor in mine.items():
        twin = theirs.get(name)
        if twin is None:
            reasons["only in the first model"] += 1
        elif (tensor.shape, tensor.dtype) != (twin.shape, twin.dtype):
            reasons["of another shape or dtype"] += 1
        else:
            a, b = here.get((tensor.file, tensor.name)), there.get((twin.file, twin.name))
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
