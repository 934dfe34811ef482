"""What training holds on one device, line by line, each with its formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TrainingLine:
    """One line of the sum: bytes on one device, and how they come about."""

    name: str
    nbytes: int
    formula: str

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "nbytes": self.nbytes, "formula": self.formula}


@dataclass(frozen=True)
class AdaptedGroup:
    """Matrices of one name and shape that get an adapter: ``count`` matrices of ``columns`` inputs
    and ``rows`` outputs, ``parameters`` = count · rank · (columns + rows)."""

    name: str
    count: int
    rows: int
    columns: int
    parameters: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name, "count": self.count, "rows": self.rows, "columns": self.columns,
            "parameters": self.parameters,
        }  # fmt: skip


@dataclass(frozen=True)
class Training:
    """Bytes on one of ``gpus`` devices for one step of training.

    ``states`` are exact: weights, gradients, float32 masters and optimizer state. ``activations``
    are what the framework keeps for the backward pass, None where no rule gives them
    (``activations_unknown`` says why). ``logits`` is a limit of its own. ``total`` is the sum of
    these lines, None where one is not known; gradients of activations and the device's runtime are
    in no line. ``estimates`` are named formulas of others, never part of a sum. ``fits`` is False
    where states and activations are more than the named device holds, else None: that a step fits
    follows from no sum here.
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
    rank: int | None = None
    targets: tuple[str, ...] = ()
    adapters: tuple[AdaptedGroup, ...] = ()
    estimates: Mapping[str, int] = field(default_factory=dict, hash=False)
    fits: bool | None = None
    notes: tuple[str, ...] = ()

    @property
    def states_nbytes(self) -> int:
        """Weights, gradients, masters and optimizer state."""
        return sum(line.nbytes for line in self.states)

    @property
    def total(self) -> int | None:
        """States, activations and the logits' limit; None where one is not known."""
        if self.activations is None or self.logits is None:
            return None
        return self.states_nbytes + self.activations.nbytes + self.logits.nbytes

    def to_dict(self) -> dict[str, Any]:
        return {
            "method": self.method, "optimizer": self.optimizer, "precision": self.precision,
            "tokens": self.tokens, "batch": self.batch, "gpus": self.gpus, "zero": self.zero,
            "checkpointing": self.checkpointing, "rank": self.rank, "targets": list(self.targets),
            "trainable": self.trainable, "frozen": self.frozen,
            "adapters": [group.to_dict() for group in self.adapters],
            "states": [line.to_dict() for line in self.states],
            "states_nbytes": self.states_nbytes,
            "activations": None if self.activations is None else self.activations.to_dict(),
            "activations_unknown": self.activations_unknown,
            "logits": None if self.logits is None else self.logits.to_dict(),
            "total": self.total, "estimates": dict(self.estimates), "fits": self.fits,
            "notes": list(self.notes),
        }  # fmt: skip
