"""Where in a model each stored tensor stands: before the layers, in one of them, or after them.

What comes before the layers (tables of tokens and positions) is the input; the last norm and the
head are the output. Both engines that cut a model between layers need this: stages of a pipeline,
and llama.cpp's split between GPU and CPU.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final, NamedTuple

from ..core.components import Component
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..core.tensor_copies import Copies, Place
from ..trees.prediction import Prediction
from .kv_cache import decoder_stacks

#: Places that are no layer. APART: another part (vision, audio), an encoder.
INPUT = -1
OUTPUT = -2
APART = -3
EVERYWHERE = -4

#: Names of GGUF that are needed before the layers, on the CPU. Source: the layer of each tensor in
#: llama.cpp's llama-arch.cpp (LLM_TENSOR_LAYER_INPUT).
_GGUF_INPUT: Final = frozenset(
    {"token_embd", "token_embd_norm", "token_types", "position_embd", "per_layer_token_embd"}
)
#: Those that belong to each layer and are loaded once a device.
_GGUF_EVERY: Final = frozenset({"rope_freqs", "rope_factors_long", "rope_factors_short"})
#: Those of the first layer although their names have no number.
_GGUF_FIRST: Final = frozenset({"per_layer_model_proj", "per_layer_proj_norm"})
#: Experts by name, as --cpu-moe and --n-cpu-moe choose them (llama.cpp, common/common.h).
_GGUF_EXPERTS: Final = re.compile(r"\.ffn_(up|down|gate|gate_up)_(ch|)exps")


class HeldTensor(NamedTuple):
    """A tensor that the class holds. ``routed``: a router chooses it among experts. ``nbytes`` are
    its own, 0 where unknown."""

    tensor: TensorInfo
    routed: bool
    nbytes: int


class PlacedTensor(NamedTuple):
    """Tensors that stand at each of ``places``: the number of a layer, or one of the constants
    above. Equal layers of a prediction are listed once; ``head`` comes before the tensors' names
    at the first place."""

    places: tuple[int, ...]
    tensors: tuple[HeldTensor, ...]
    head: str = ""


def placed_tensors(inspection: Inspection, prediction: Prediction) -> Iterator[PlacedTensor]:
    """Every tensor that the class holds, at its place."""
    gguf = inspection.format == "gguf"
    starts = _starts(prediction)
    tensors: Iterable[TensorInfo] = inspection.tensors
    layers: list[list[Place[TensorInfo]]] = []
    if isinstance(tensors, Copies) and not gguf:
        layers, tensors = _layers_apart(tensors)
    before = set() if gguf else _before_layers(prediction, starts)
    single: dict[int, list[TensorInfo]] = {}
    for tensor in tensors:
        place = _in_gguf(tensor) if gguf else _in_repo(tensor, starts, before)
        single.setdefault(place, []).append(tensor)
    for place, alone in single.items():
        yield PlacedTensor((place,), _of_class(alone, gguf=gguf))
    for places in layers:
        numbers = tuple(_of_layer(place.stack, place.layer, starts) for place in places)
        yield PlacedTensor(numbers, _of_class(places[0].template.rows), places[0].head)


def _layers_apart(
    tensors: Copies[TensorInfo],
) -> tuple[list[list[Place[TensorInfo]]], Iterator[TensorInfo]]:
    """The places of each template that is a layer, and the tensors that are in none."""
    layers: dict[int, list[Place[TensorInfo]]] = {}
    others: list[Place[TensorInfo]] = []
    for place in tensors.places():
        key = id(place.template)
        if place.layer is None or place.template.has_layers:
            others.append(place)
        else:
            layers.setdefault(key, []).append(place)
    return list(layers.values()), (tensor for place in others for tensor in place.rows())


def _of_class(tensors: Iterable[TensorInfo], *, gguf: bool = False) -> tuple[HeldTensor, ...]:
    """Those that the class holds and that are not counted with another tensor."""
    return tuple(
        HeldTensor(
            tensor,
            bool(_GGUF_EXPERTS.search(tensor.name)) if gguf else tensor.kind == "expert",
            tensor.own_nbytes or 0,
        )
        for tensor in tensors
        if tensor.extra_kind is None and (tensor.tied_to is None or tensor.nbytes is not None)
    )


def tied_head_bytes(inspection: Inspection, prediction: Prediction) -> int:
    """Bytes of the token table where the head is the same tensor; 0 where it has its own.

    A device that has the head and not the table holds a copy.
    """
    if inspection.format == "gguf":
        names = {tensor.name: tensor for tensor in inspection.tensors}
        table = names.get("token_embd.weight")
        return 0 if "output.weight" in names or table is None else table.nbytes or 0
    heads = prediction.specs.where(lambda spec: spec.component is Component.HEAD)
    tables = {spec.tied_to for spec in heads if spec.tied_to}
    return sum(tensor.nbytes or 0 for tensor in _named(inspection.tensors, tables))


def _named(tensors: Sequence[TensorInfo], names: Set[str]) -> Iterator[TensorInfo]:
    """The tensors of these names; layers that can have none of them are not looked through."""
    if not names:
        return
    rows: Iterable[TensorInfo] = tensors
    if isinstance(tensors, Copies):
        places = (p for p in tensors.places() if any(name.startswith(p.head) for name in names))
        rows = (tensor for place in places for tensor in place.rows())
    yield from (tensor for tensor in rows if tensor.name in names)


def _starts(prediction: Prediction) -> dict[str, int]:
    """Path of each list of the decoder's layers -> the number of its first layer."""
    starts: dict[str, int] = {}
    count = 0
    for path, blocks in decoder_stacks(prediction.root):
        starts[path] = count
        count += blocks
    return starts


def _before_layers(prediction: Prediction, starts: dict[str, int]) -> set[str]:
    """Names of tensors that stand before the first layer in module order."""
    names: set[str] = set()
    for place in prediction.specs.places():
        for spec in place.rows():
            if spec.stack in starts:
                return names
            names.add(spec.name)
    return names


def _in_repo(tensor: TensorInfo, starts: dict[str, int], before: set[str]) -> int:
    if tensor.stack is not None:
        return _of_layer(tensor.stack, tensor.layer, starts)
    if tensor.part != "text":
        return APART
    if tensor.component is Component.HEAD:
        return OUTPUT
    return INPUT if tensor.name in before or tensor.component is Component.EMBEDDING else OUTPUT


def _of_layer(stack: str, layer: int | None, starts: dict[str, int]) -> int:
    """The number of a layer among those of the decoder; APART for one of another stack."""
    return starts[stack] + layer if stack in starts and layer is not None else APART


def _in_gguf(tensor: TensorInfo) -> int:
    if tensor.layer is not None:
        return tensor.layer if tensor.name.startswith("blk.") else APART
    stem = tensor.name.split(".", 1)[0]
    if stem in _GGUF_INPUT:
        return INPUT
    if stem in _GGUF_EVERY:
        return EVERYWHERE
    if stem in _GGUF_FIRST:
        return 0
    return OUTPUT
