"""Several devices: tensor, pipeline and expert parallelism, and the bytes of the fullest device.

- Tensor parallelism (Megatron-LM, arXiv 1909.08053): projections to heads and to the inner width
  are cut by outputs, with their biases; those back are cut by inputs, their biases are whole.
  Tables of tokens and heads are cut by vocabulary. Norms, routers, latents, tables of positions
  are on every device; so is a key/value head where there are fewer heads than devices.
- Pipeline parallelism cuts between layers: tables are on the first stage, the last norm and the
  head on the last one, with a copy of the table where the head is tied to it. Layers that do not
  divide evenly: vLLM gives the extra ones to the stages before the last, from the back
  (``get_pp_indices``), SGLang to the last stages; all else here is as vLLM does it.
- Expert parallelism gives each of its devices ⌈n / ranks⌉ whole experts. With more of its devices
  than of tensor parallelism, attention and dense layers are copied (data parallel attention); with
  fewer, tensor parallelism cuts each expert over the rest.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ..core.components import Component
from ..core.lazy_sequence import counted
from ..core.once import once_each
from ..core.records import dataclass
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..errors import UsageError
from ..trees.cache_layout import CacheItem, KeysValues, State
from ..trees.prediction import Prediction
from .cache_request import CachedLayer
from .devices import Device
from .engines.interface import Engine
from .tensor_places import APART, INPUT, OUTPUT, HeldTensor, placed_tensors, tied_head_bytes

#: More devices in one direction than any model is cut for.
MAX_RANKS: Final = 100_000
_LINEAR: Final = frozenset(
    {Component.ATTENTION, Component.MLP, Component.EMBEDDING, Component.HEAD, Component.SSM}
)
#: Kinds that every device holds whole: one latent for all heads, tables of positions.
_WHOLE: Final = frozenset(
    {"query_down", "kv_down", "position", "segment", "relative_position", "indexer"}
)
#: Kinds whose biases (and quantisation scales) are cut with their outputs.
_BY_OUTPUTS: Final = frozenset(
    {"query", "key", "value", "qkv", "key_value", "query_up", "kv_up", "gate", "up", "gate_up"}
)


@dataclass(frozen=True)
class Parallel:
    """How many devices share each layer, its experts, and the stack of layers."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1

    @property
    def devices(self) -> int:
        return max(self.tensor, self.expert) * self.pipeline

    @property
    def alone(self) -> bool:
        return self.devices == 1


def checked_parallel(tensor: int, pipeline: int, expert: int, engine: Engine) -> Parallel:
    """What a user wrote, checked. Raises UsageError."""
    names = ("tensor_parallel", "pipeline_parallel", "expert_parallel")
    for name, value in zip(names, (tensor, pipeline, expert), strict=True):
        if isinstance(value, bool) or not 1 <= value <= MAX_RANKS:
            raise UsageError(f"{name} {value!r}", "is not possible", expected=f"1 to {MAX_RANKS:,}")
    if max(tensor, expert) % min(tensor, expert):
        raise UsageError(
            f"tensor_parallel {tensor} and expert_parallel {expert}",
            "do not go together",
            expected="one that divides the other",
        )
    parallel = Parallel(tensor, pipeline, expert)
    engine.check_parallel(parallel.devices)
    return parallel


def assumed_split(devices: int, engine: Engine, heads: int | None, layers: int) -> Parallel:
    """How several devices share a model where nobody says it: each layer over all of them, as
    vLLM and SGLang are started; under transformers whole layers, as ``device_map="auto"`` places
    them. Of heads that do not divide, whole layers; of fewer layers too, as many devices as divide.
    ``layers``: of a decoder; 0 where they are no single stack.
    """
    divides = not heads or heads % devices == 0
    if layers >= devices and (engine.deals_layers or not divides):
        return Parallel(pipeline=devices)
    if heads and not divides:
        return Parallel(tensor=math.gcd(heads, devices))
    return Parallel(tensor=devices)


def split_notes(requested: Parallel, split: Parallel, device: Device | None) -> list[str]:
    """What is assumed of several devices where no split was named."""
    if device is None or device.count == 1 or not requested.alone:
        return []
    if split.tensor > 1:
        every = "all" if split.tensor == device.count else f"{split.tensor} of the {device.count}"
        how = f"each layer is cut over {every} cards, as with --tp {split.tensor}"
        other = f"--pp {device.count} gives each card whole layers"
    elif split.pipeline > 1:
        how = f"each card has some of the layers, as with --pp {device.count}"
        other = f"--tp {device.count} cuts each layer over all cards"
    else:
        return []
    return [f"no split was named: {how}; {other}"]


def parallel_notes(parallel: Parallel, engine: Engine, inspection: Inspection) -> list[str]:
    """What the engine does not do this way, and what the numbers assume."""
    notes = []
    heads = inspection.facts.heads
    ranks = parallel.tensor
    if heads and heads % ranks:
        notes.append(
            f"{heads} attention heads do not divide over {ranks} devices: engines refuse that"
        )
    if parallel.expert > ranks:
        groups = parallel.expert // ranks
        notes.append(
            f"attention is copied {groups} times (data parallel); the batch is that of one copy"
        )
    notes += engine.parallel_notes(ranks, parallel.pipeline, parallel.expert)
    if parallel.expert > 1 and inspection.facts.experts is None:
        notes.append("the config counts no experts; expert parallelism has no effect")
    return notes


def stages(layers: int, count: int, engine: Engine) -> list[range]:
    """Layers of each stage. Raises UsageError where there are more stages than layers."""
    if count > layers:
        raise UsageError(
            f"pipeline_parallel {count}",
            f"are more stages than the {layers} layers",
            expected=f"1 to {layers}",
        )
    each, rest = divmod(layers, count)
    sizes = [each] * count
    last = count if engine.last_stage_is_full else count - 1
    for i in range(rest):
        sizes[last - 1 - i] += 1
    starts = [sum(sizes[:i]) for i in range(count)]
    return [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]


# ---- weights


@dataclass(frozen=True)
class _SplitHeads:
    query: int
    key: int

    def part(self, kind: str, ranks: int) -> tuple[int, int]:
        """The heads of a projection that the fullest device has, whole ones, and all of them."""
        key = -(-self.key // ranks)
        query = -(-self.query // ranks)
        if kind in ("key", "value", "key_value"):
            return key, self.key
        if kind == "qkv":
            return query + 2 * key, self.query + 2 * self.key
        return query, self.query


@once_each
def _sums_of_one_stage(of: Inspection) -> dict[Parallel, int]:  # noqa: ARG001 - whose they are
    """Bytes that were summed already: several engines split one model alike."""
    return {}


def stage_weights(
    inspection: Inspection, prediction: Prediction | None, parallel: Parallel, parts: list[range]
) -> list[int]:
    """Bytes of the weights on one device of each stage, which share them evenly but for whole
    heads and experts; one stage needs no prediction. All bytes must be known."""
    shares = _Shares(inspection, parallel)
    if prediction is None or len(parts) == 1:
        summed = _sums_of_one_stage(inspection)
        if parallel not in summed:
            summed[parallel] = shares.sum(
                (HeldTensor(tensor, tensor.kind == "expert", tensor.own_nbytes or 0), count)
                for tensor, count in counted(inspection.tensors)
                if tensor.extra_kind is None
            )
        return [summed[parallel]]
    by_place: dict[int, list[tuple[HeldTensor, ...]]] = {}
    for placed in placed_tensors(inspection, prediction):
        for place in placed.places:
            by_place.setdefault(place, []).append(placed.tensors)
    # Equal layers have the same tensors, summed once.
    bytes_of_groups: dict[tuple[int, ...], int] = {}
    sums: dict[int, int] = {}
    for place, groups in by_place.items():
        key = tuple(map(id, groups))
        if key not in bytes_of_groups:
            bytes_of_groups[key] = shares.sum((tensor, 1) for group in groups for tensor in group)
        sums[place] = bytes_of_groups[key]
    result = []
    for i, part in enumerate(parts):
        places = [*part]
        if i == 0:
            places += [INPUT, APART]
        if i == len(parts) - 1:
            places += [OUTPUT]
        # Layers that predict further tokens stand after the last one.
        more = max(sums, default=0) + 1 if i == len(parts) - 1 else part.stop
        places += range(part.stop, more)
        result.append(sum(sums.get(place, 0) for place in places))
    result[-1] += -(-tied_head_bytes(inspection, prediction) // parallel.tensor)
    return result


class _Shares:
    """Bytes of tensors on the fullest device of a stage."""

    def __init__(self, inspection: Inspection, parallel: Parallel) -> None:
        self._parallel = parallel
        facts = inspection.facts
        query = facts.heads or 0
        key = facts.kv_heads or query
        self._heads = _SplitHeads(query, key) if query and key else None

    def sum(self, tensors: Iterable[tuple[HeldTensor, int]]) -> int:
        """Of tensors, each as often as it is there."""
        total = 0
        routed: Counter[tuple[int, int]] = Counter()
        for (tensor, is_routed, nbytes), count in tensors:
            if is_routed and tensor.active is not None:
                routed[tensor.active[1], self._cuts(tensor)] += nbytes * count
            else:
                total += self._share(tensor, nbytes) * count
        ranks = self._parallel.expert
        for (number, cuts), nbytes in routed.items():
            total += _up(nbytes * -(-number // ranks), number * cuts)
        return total

    def _cuts(self, tensor: TensorInfo) -> int:
        """The parts of each expert: tensor parallelism cuts it where expert parallelism does not;
        biases of projections back are whole."""
        if tensor.name.endswith("bias"):
            back = "down" in tensor.name.rsplit(".", 2)[-1] or ".w2." in tensor.name
            if back:
                return 1
        return max(1, self._parallel.tensor // self._parallel.expert)

    def _share(self, tensor: TensorInfo, nbytes: int) -> int:
        ranks = self._parallel.tensor
        kind = tensor.kind
        if ranks == 1 or tensor.component not in _LINEAR or kind in _WHOLE:
            return nbytes
        if len(tensor.shape) < 2 and kind not in _BY_OUTPUTS and kind != "sink":
            return nbytes
        if self._heads is not None and tensor.component is Component.ATTENTION:
            part, heads = self._heads.part(kind, ranks)
            return _up(nbytes * part, heads)
        return _up(nbytes, ranks)


def _up(nbytes: int, parts: int) -> int:
    """The largest of equal parts, in whole bytes."""
    return -(-nbytes // parts)


# ---- what layers keep


def divided(layer: CachedLayer, ranks: int, inspection: Inspection) -> CachedLayer:
    """What one of ``ranks`` devices keeps of a layer: whole heads, at least one; latents whole."""
    if ranks == 1:
        return layer
    return replace(layer, cache=tuple(_part(item, ranks, inspection) for item in layer.cache))


def _part(item: CacheItem, ranks: int, inspection: Inspection) -> CacheItem:
    if isinstance(item, State):
        first, *rest = item.shape
        return replace(item, shape=(-(-int(first) // ranks), *rest))
    if not isinstance(item, KeysValues) or item.latent or item.name:
        return item
    heads = int(item.heads or inspection.facts.kv_heads or inspection.facts.heads or 1)
    heads_of = -(-heads // ranks)
    return replace(
        item,
        key=int(item.key) * heads_of // heads,
        value=int(item.value) * heads_of // heads,
        heads=heads_of,
    )
