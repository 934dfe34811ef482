"""What llama.cpp puts on the GPU and what stays on the CPU, layer by layer."""

from __future__ import annotations

from .json_form import JsonForm
from .records import dataclass


@dataclass(frozen=True)
class LayerBytes(JsonForm):
    """Neighbouring layers of equal size, and the bytes of each.

    Fields:
        first [index, from 0]: the first of these layers
        last [index, from 0]: the last of these layers
        weights [bytes]: of each, experts included
        experts [bytes]: of its experts alone
        cache [bytes]: cache of each, for all sequences
    """

    first: int
    last: int
    weights: int
    experts: int
    cache: int


@dataclass(frozen=True)
class OffloadPlan(JsonForm):
    """One way to split the model.

    Fields:
        flags: of llama.cpp's programs
        gpu_layers [layers]: on the GPU (``-ngl``): the last ones, the output layer counted as one
        cpu_experts [layers]: the first ones, whose experts stay on the CPU
        gpu_weights [bytes]: on all GPUs
        gpu_cache [bytes]: on all GPUs
        workspace [bytes]: a limit, on each GPU
        fullest [bytes]: weights, cache and workspace of the fullest GPU
        cpu_weights [bytes]: in the computer's memory
        cpu_cache [bytes]: in the computer's memory
    """

    flags: str
    gpu_layers: int
    cpu_experts: int
    gpu_weights: int
    gpu_cache: int
    workspace: int
    fullest: int
    cpu_weights: int
    cpu_cache: int


@dataclass(frozen=True)
class Offload(JsonForm):
    """The model by layer, and the plans that a device holds; none without a device.

    The first plan has the most layers on the GPU; the second, of a model with experts that does not
    fit whole, keeps experts on the CPU instead of layers.

    Fields:
        tokens [tokens]: of each sequence
        input [bytes]: tables of tokens, always on the CPU
        layers: the repeating layers, in order
        output [bytes]: the last norm and the head, or a copy of the table as head
        everywhere [bytes]: bytes on each device with a layer
        plans: that fit
    """

    tokens: int
    input: int
    layers: tuple[LayerBytes, ...]
    output: int
    everywhere: int
    plans: tuple[OffloadPlan, ...] = ()
