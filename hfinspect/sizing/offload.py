"""How many layers go to the GPU with llama.cpp (``-ngl``), and whose experts stay on the CPU.

Rules, of llama.cpp's ``llama_model::load_tensors`` (src/llama-model.cpp) and common/arg.cpp:

- ``-ngl N`` counts from the end: the output layer (last norm and head) is the first, then the
  repeating layers from the last one down; N = layers + 1 is all (read at commit 360e134). Until
  late 2025 (commit 00342301) the output layer was counted last; all layers are the same in both.
- The tables of tokens stay on the CPU. Without a head of its own the table is loaded once more as
  head, where the output layer is.
- Keys, values and states of a layer are where the layer is.
- ``--n-cpu-moe N`` keeps the experts of the first N layers on the CPU, ``--cpu-moe`` those of all.
- Several equal GPUs: layer i of the n that are offloaded goes to GPU ⌊i · GPUs / n⌋.
"""

from collections.abc import Iterable, Sequence

from ..core.offload_plan import LayerBytes, Offload, OffloadPlan
from ..core.records import dataclass
from ..core.results import Inspection
from ..trees.prediction import Prediction
from .devices import Device
from .tensor_places import APART, EVERYWHERE, INPUT, OUTPUT, placed_tensors, tied_head_bytes


@dataclass(frozen=True)
class Parts:
    """Bytes of a model's weights by place; ``layers`` are (weights, experts among them)."""

    input: int
    output: int
    everywhere: int
    layers: tuple[tuple[int, int], ...]
    apart: int

    @property
    def on_gpu(self) -> int:
        """On the GPU where all layers are."""
        return self.output + self.everywhere + sum(weights for weights, _ in self.layers)


def weights_by_layer(inspection: Inspection, prediction: Prediction, layers: int) -> Parts | str:
    """Weights by place, or the reason why they are not known. ``layers`` is how many keep a cache;
    what stands after them (layers that predict further tokens) is not loaded."""
    if prediction.family is not None and prediction.family.category == "encoder-decoder":
        return "the layers of encoder-decoders are not planned"
    sums = {INPUT: 0, OUTPUT: 0, EVERYWHERE: 0, APART: 0}
    weights = [0] * layers
    experts = [0] * layers
    for places, tensors, first in placed_tensors(inspection, prediction):
        unknown = next(
            (tensor.tensor.name for tensor in tensors if tensor.tensor.nbytes is None), None
        )
        if unknown is not None:
            return f"the bytes of {first}{unknown} are not known"
        total = sum(tensor.nbytes for tensor in tensors)
        routed = sum(tensor.nbytes for tensor in tensors if tensor.routed)
        for place in places:
            if place < 0:
                sums[place] += total
            elif place < layers:
                weights[place] += total
                experts[place] += routed
    head = tied_head_bytes(inspection, prediction)
    return Parts(
        sums[INPUT],
        sums[OUTPUT] + head,
        sums[EVERYWHERE],
        tuple(zip(weights, experts, strict=True)),
        sums[APART],
    )


def plan_offload(
    parts: Parts, cache: Sequence[int], tokens: int, workspace: int, device: Device | None
) -> Offload:
    """The model by layer, and what fits the device. ``cache`` are bytes of each layer."""
    plans = () if device is None else Splitter(parts, cache, workspace, device).plans()
    return Offload(
        tokens, parts.input, _grouped(parts, cache), parts.output, parts.everywhere, plans
    )


def _grouped(parts: Parts, cache: Sequence[int]) -> tuple[LayerBytes, ...]:
    groups: list[LayerBytes] = []
    for i, ((weights, experts), cache_bytes) in enumerate(zip(parts.layers, cache, strict=True)):
        first = i
        if groups and _sizes(groups[-1]) == (weights, experts, cache_bytes):
            first = groups.pop().first
        groups.append(LayerBytes(first, i, weights, experts, cache_bytes))
    return tuple(groups)


def _sizes(group: LayerBytes) -> tuple[int, int, int]:
    return group.weights, group.experts, group.cache


@dataclass(frozen=True)
class Splitter:
    """Tries splits of the weights and of the cache (bytes of each layer) over equal GPUs."""

    parts: Parts
    cache: Sequence[int]
    workspace: int
    device: Device

    def plans(self) -> tuple[OffloadPlan, ...]:
        """The most layers that fit, and where that is not all, the fewest experts on the CPU."""
        every = self._every
        routed = self._routed
        plain = self._first((n, 0) for n in range(every, 0, -1))
        tried = [plain]
        if routed and (plain is None or plain.gpu_layers < every):
            most = routed[-1] + 1
            choices = [(every, n) for n in range(routed[0] + 1, most + 1)]
            tried.append(self._first([*choices, *((n, most) for n in range(every - 1, 0, -1))]))
        return tuple(plan for plan in tried if plan is not None)

    def whole(self) -> OffloadPlan:
        """All layers on the GPUs."""
        return self._plan(self._every, 0)

    @property
    def _every(self) -> int:
        return len(self.parts.layers) + 1

    @property
    def _routed(self) -> list[int]:
        return [i for i, (_, experts) in enumerate(self.parts.layers) if experts]

    def _first(self, choices: Iterable[tuple[int, int]]) -> OffloadPlan | None:
        plans = (self._plan(layers, experts) for layers, experts in choices)
        return next((plan for plan in plans if plan.fullest <= self.device.nbytes), None)

    def _plan(self, gpu_layers: int, cpu_experts: int) -> OffloadPlan:
        """``gpu_layers`` with the output layer, ``cpu_experts`` first layers without experts."""
        parts = self.parts
        count = len(self.parts.layers)
        weights = [0] * self.device.count
        caches = [0] * self.device.count
        start = count + 1 - gpu_layers
        with_layers: set[int] = set()
        for i in range(start, count):
            gpu = (i - start) * self.device.count // gpu_layers
            nbytes, experts = parts.layers[i]
            weights[gpu] += nbytes - (experts if i < cpu_experts else 0)
            caches[gpu] += self.cache[i]
            with_layers.add(gpu)
        weights[(gpu_layers - 1) * self.device.count // gpu_layers] += parts.output
        once = sum(weights)
        for gpu in with_layers:
            weights[gpu] += parts.everywhere
        total = parts.input + parts.output + sum(nbytes for nbytes, _ in parts.layers)
        return OffloadPlan(
            flags=self._flags(gpu_layers, cpu_experts),
            gpu_layers=gpu_layers,
            cpu_experts=cpu_experts,
            gpu_weights=sum(weights),
            gpu_cache=sum(caches),
            workspace=self.workspace,
            fullest=max(map(sum, zip(weights, caches, strict=True))) + self.workspace,
            cpu_weights=total - once + (parts.everywhere if start else 0),
            cpu_cache=sum(self.cache) - sum(caches),
        )

    def _flags(self, gpu_layers: int, cpu_experts: int) -> str:
        flags = f"-ngl {gpu_layers}"
        if not cpu_experts:
            return flags
        every = cpu_experts > self._routed[-1]
        return f"{flags} --cpu-moe" if every else f"{flags} --n-cpu-moe {cpu_experts}"
