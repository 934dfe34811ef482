"""Where in a model each stored tensor stands: before the layers, in one of them, or after them.

What comes before the layers (tables of tokens and positions) is the input; the last norm and the
head are the output. Both engines that cut a model between layers need this: stages of a pipeline,
and llama.cpp's split between GPU and CPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..core.components import Component
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..trees.prediction import Prediction
from .kv_cache import decoder_stacks

#: Places that are no layer. APART: another part (vision, audio), an encoder.
INPUT, OUTPUT, APART, EVERYWHERE = -1, -2, -3, -4

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


class TensorPlace(NamedTuple):
    """A tensor's place: the number of its layer, or one of the constants above. ``routed``: it is
    one of the experts that a router chooses from. ``nbytes`` are its own, 0 where unknown."""

    tensor: TensorInfo
    place: int
    routed: bool
    nbytes: int


def placed_tensors(found: Inspection, prediction: Prediction) -> Iterator[TensorPlace]:
    """Every tensor that the class holds, once, with its place."""
    gguf = found.format == "gguf"
    starts = _starts(prediction)
    before = set() if gguf else _before_layers(prediction, starts)
    for tensor in found.tensors:
        if tensor.beyond is not None or (tensor.tied_to is not None and tensor.nbytes is None):
            continue
        if gguf:
            place, routed = _in_gguf(tensor), bool(_GGUF_EXPERTS.search(tensor.name))
        else:
            place, routed = _in_repo(tensor, starts, before), tensor.kind == "expert"
        yield TensorPlace(tensor, place, routed, tensor.own_nbytes or 0)


def tied_head_bytes(found: Inspection, prediction: Prediction) -> int:
    """Bytes of the token table where the head is the same tensor; 0 where it has its own.

    A device that has the head and not the table holds a copy.
    """
    names = {tensor.name: tensor for tensor in found.tensors}
    if found.format == "gguf":
        table = names.get("token_embd.weight")
        return 0 if "output.weight" in names or table is None else table.nbytes or 0
    heads = [spec for spec in prediction.specs if spec.component is Component.HEAD]
    tables = {spec.tied_to for spec in heads if spec.tied_to}
    return sum(names[name].nbytes or 0 for name in tables if name in names)


def _starts(prediction: Prediction) -> dict[str, int]:
    """Path of each list of the decoder's layers -> the number of its first layer."""
    found: dict[str, int] = {}
    count = 0
    for path, blocks in decoder_stacks(prediction.root):
        found[path] = count
        count += blocks
    return found


def _before_layers(prediction: Prediction, starts: dict[str, int]) -> set[str]:
    """Names of tensors that stand before the first layer in module order."""
    names: set[str] = set()
    for spec in prediction.specs:
        if spec.stack in starts:
            return names
        names.add(spec.name)
    return names


def _in_repo(tensor: TensorInfo, starts: dict[str, int], before: set[str]) -> int:
    if tensor.stack in starts and tensor.layer is not None:
        return starts[tensor.stack] + tensor.layer
    if tensor.part != "text" or tensor.stack is not None:
        return APART
    if tensor.component is Component.HEAD:
        return OUTPUT
    return INPUT if tensor.name in before or tensor.component is Component.EMBEDDING else OUTPUT


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
