"""Bytes that the next token reads: with a bandwidth an upper bound of tokens a second."""

from collections import Counter
from collections.abc import Sequence

from ..core.bytes_read import Reading
from ..core.components import Component
from ..core.flop_count import Flops
from ..core.lazy_sequence import counted
from ..core.once import once_each
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..errors import UsageError
from .cache_request import CachedLayer, CacheRequest
from .devices import parse_size
from .engines.registry import LOGICAL
from .kv_cache import cache_size


def parse_bandwidth(text: str) -> int:
    """Bytes a second of ``3.35TB/s`` or ``936GB/s``. Raises UsageError."""
    plain = text.strip()
    nbytes = parse_size(plain[:-2]) if plain.lower().endswith("/s") else None
    if nbytes is None:
        raise UsageError(
            f"bandwidth {text!r}", "is not a number of bytes a second", expected="3.35TB/s, 936GB/s"
        )
    return nbytes


def count_reading(
    inspection: Inspection,
    layers: Sequence[CachedLayer],
    request: CacheRequest,
    flops: Flops | None,
    bandwidth: int | None,
    devices: int,
) -> Reading | None:
    """For the next token of each sequence; None where the size of the weights is unknown."""
    weights = _weights_read(inspection)
    if weights is None or inspection.nbytes is None:
        return None
    cache = cache_size(layers, LOGICAL, request).nbytes
    read = weights + cache
    formula = f"{weights:,} + {cache:,}"
    speed = None
    if bandwidth is not None and read:
        speed = request.batch * devices * bandwidth / read
        formula = f"{request.batch} × {devices} × {bandwidth:,} / ({formula})"
    decode = prefill = None
    if flops is not None:
        decode = flops.next_token / read
        prefill = flops.forward / (inspection.nbytes + cache)
    return Reading(weights, cache, decode, prefill, bandwidth, speed, formula)


@once_each
def _weights_read(inspection: Inspection) -> int | None:
    """Bytes of the tensors that serve one token. A tied table is read as the head."""
    tensors = list(counted(inspection.tensors))
    head = any(t.component is Component.HEAD and t.tied_to is None for t, _ in tensors)
    sums: Counter[tuple[int, int]] = Counter()
    for tensor, count in tensors:
        if tensor.extra_kind is not None or tensor.tied_to is not None or tensor.part != "text":
            continue
        nbytes = tensor.own_nbytes
        if nbytes is None:
            return None
        if not _is_looked_up(tensor) or (_is_table(tensor) and not head):
            sums[tensor.active or (1, 1)] += nbytes * count
    return sum(nbytes * k // n for (k, n), nbytes in sums.items())


def _is_looked_up(tensor: TensorInfo) -> bool:
    return tensor.component is Component.EMBEDDING and len(tensor.shape) == 2


def _is_table(tensor: TensorInfo) -> bool:
    return tensor.kind == "token" or tensor.name == "token_embd.weight"
