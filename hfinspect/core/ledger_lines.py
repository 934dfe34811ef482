"""The lines of a derivation: letters, and sections of rows with their sums by component."""

from __future__ import annotations

from typing import Literal

from .formula import Formula
from .json_form import JsonForm
from .records import dataclass


@dataclass(frozen=True)
class Letter(JsonForm):
    """A symbol: its letter, the key of the config, the number that it stands for and what it is,
    with how the number comes about where the config does not give it.

    Fields:
        letter: the letter in formulas, such as ``H``
        key: the config key; empty for a default or a derived quantity
        value: its value
        meaning: its meaning
    """

    letter: str
    key: str
    value: int
    meaning: str


@dataclass(frozen=True)
class Row(
    JsonForm,
    names={"count": "formula", "value": "parameters"},
    after={"status": "kind", "tied_to": "status", "parameters": "formula"},
):
    """A line of the ledger; in a section of layers its numbers are those of one layer.

    Fields:
        path: dotted path of the module or tensor
        label: as the ledger shows it
        indent [steps]: how deep it lies in its section
        level: ``module``, ``group`` (of the deeper ones that follow) or ``tensor`` of a module
        component: embedding, attention, mlp, ...
        kind: its function: ``query``, ``gate``, ``lm_head``, ...
        weights [parameters]: without biases; None where there are none
        biases [parameters]: None where there are none
        count [parameters]: of one layer
        status: ``counted``, or why the row adds nothing: ``tied`` or ``buffer``
        tied_to: the tensor that it is counted with; None if it counts itself
    """

    path: str
    label: str
    indent: int
    level: Literal["group", "module", "tensor"]
    component: str
    kind: str
    weights: Formula | None
    biases: Formula | None
    count: Formula
    status: Literal["counted", "tied", "buffer"] = "counted"
    tied_to: str | None = None

    @property
    def value(self) -> int:
        """What the row adds: 0 unless it is counted."""
        return self.count.value if self.status == "counted" else 0


@dataclass(frozen=True)
class Share(JsonForm, names={"value": "parameters"}, after={"parameters": "biases"}):
    """Weights and biases of one component.

    Fields:
        component: embedding, attention, mlp, ...
        weights [parameters]: without biases
        biases [parameters]: biases alone
        formula: of both; None where it is too long
    """

    component: str
    weights: int
    biases: int
    formula: Formula | None

    @property
    def value(self) -> int:
        """Weights and biases."""
        return self.weights + self.biases


@dataclass(frozen=True)
class Section(
    JsonForm,
    names={"shares": "components", "value": "one_value"},
    after={"one_value": "one", "parameters": "total"},
):
    """Consecutive lines: modules outside the layers, or one of several equal layers.

    Fields:
        title: as the report shows it
        path: dotted path of the module, or of the list of layers
        layers [indices, from 0]: that are equal; empty outside of layers; of a path with ``*``, in
            every module that the ``*`` stands for
        times: how many layers in all, as a formula; None outside of layers
        rows: the lines of one layer
        shares: sums by component, of one layer
        value [parameters]: of one layer
        one: formula of one layer; None where it is too long
        total: formula of all of them; None where it is too long
    """

    title: str
    path: str
    layers: tuple[int, ...]
    times: Formula | None
    rows: tuple[Row, ...]
    shares: tuple[Share, ...]
    value: int
    one: Formula | None
    total: Formula | None

    @property
    def copies(self) -> int:
        return self.times.value if self.times else 1

    @property
    def parameters(self) -> int:
        """Of all of its layers."""
        return self.value * self.copies
