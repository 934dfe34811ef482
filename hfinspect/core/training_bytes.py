"""What training holds on one device, line by line, each with its formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from .json_form import JsonForm
from .records import dataclass


@dataclass(frozen=True)
class TrainingLine(JsonForm):
    """One line of the sum: bytes on one device, and how they come about.

    Fields:
        name: name of the line
        nbytes [bytes]: bytes on one device
        formula: of the bytes
    """

    name: str
    nbytes: int
    formula: str


@dataclass(frozen=True)
class AdaptedGroup(JsonForm):
    """Matrices of one name and shape that get an adapter.

    Fields:
        name: last part of the modules' names
        count [matrices]: in all layers
        rows [features]: outputs of each
        columns [features]: inputs of each
        parameters [parameters]: of their adapters: count · rank · (columns + rows)
    """

    name: str
    count: int
    rows: int
    columns: int
    parameters: int


@dataclass(frozen=True)
class Training(
    JsonForm,
    after={
        "rank": "checkpointing",
        "targets": "rank",
        "adapters": "frozen",
        "states_nbytes": "states",
        "saved": "step",
        "least": "saved",
        "total": "least",
    },
):
    """Bytes on one device for one step of training.

    Gradients of activations and the device's runtime are not included.

    Fields:
        method: full, lora or qlora
        optimizer: its name
        precision: mixed, bf16, fp32 or amp, of what is trained
        tokens [tokens]: of each sequence
        batch [sequences]: on one device
        gpus [devices]: that train together
        zero: ZeRO stage, 0 to 3
        checkpointing: whether activations are computed again
        trainable [parameters]: of all devices together
        frozen [parameters]: next to adapters; 0 for full training
        states: weights, gradients, float32 masters and optimizer state, exact
        activations: activations saved for the backward pass; None without a rule
        activations_unknown: why; empty where they are known
        logits: at most; None where the class has none
        step: temporary memory of the optimizer's step, when activations and logits have gone; None
            if it needs none
        rank: of adapters; None for full training
        targets: names of the modules with adapters
        adapters: the matrices with adapters
        saved [parameters]: copies of modules that are trained whole, by path
        estimates [bytes]: published estimates, by name; never part of a sum
        notes: remarks
    """

    method: str
    optimizer: str
    precision: str
    tokens: int
    batch: int
    gpus: int
    zero: int
    checkpointing: bool
    trainable: int
    frozen: int
    states: tuple[TrainingLine, ...]
    activations: TrainingLine | None
    activations_unknown: str
    logits: TrainingLine | None
    step: TrainingLine | None = None
    rank: int | None = None
    targets: tuple[str, ...] = ()
    adapters: tuple[AdaptedGroup, ...] = ()
    saved: Mapping[str, int] = field(default_factory=dict, hash=False)
    estimates: Mapping[str, int] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()

    @property
    def states_nbytes(self) -> int:
        """Weights, gradients, masters and optimizer state."""
        return sum(line.nbytes for line in self.states)

    @property
    def least(self) -> int:
        """States and the larger of what waits for the backward pass and of the optimizer's step,
        without what is only limited or not known."""
        activations = 0 if self.activations is None else self.activations.nbytes
        return self.states_nbytes + max(activations, 0 if self.step is None else self.step.nbytes)

    @property
    def total(self) -> int | None:
        """States and the larger of what waits for the backward pass with the logits' limit, and of
        the optimizer's step; None where one is not known."""
        if self.activations is None or self.logits is None:
            return None
        step = 0 if self.step is None else self.step.nbytes
        return self.states_nbytes + max(self.activations.nbytes + self.logits.nbytes, step)
