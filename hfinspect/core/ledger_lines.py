"""The lines of a derivation: letters, and sections of rows with their sums by component."""

from __future__ import annotations

from typing import Any

from .formula import Formula
from .records import dataclass
from .results import dict_of


@dataclass(frozen=True)
class Letter:
    """A symbol: its letter, the key of the config, the number that it stands for and what it is,
    with how the number comes about where the config does not give it.

    Fields:
        letter: as the formulas have it, such as ``H``
        key: the key that stands in the config; empty for a default or a derived quantity
        value: the number that it stands for
        meaning: what it is
    """

    letter: str
    key: str
    value: int
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "letter": self.letter,
            "key": self.key,
            "value": self.value,
            "meaning": self.meaning,
        }


@dataclass(frozen=True)
class Row:
    """A line of the ledger: a module, a group of modules (with ``indent`` less than what it holds)
    or, ``level`` ``tensor``, one tensor of a module.

    Numbers are those of one layer inside a section of layers. ``status`` is ``counted``, or why
    the row adds nothing: ``tied``, ``buffer``.

    Fields:
        path: dotted path of the module or tensor
        label: as the ledger shows it
        indent [steps]: how deep it lies in its section
        level: ``module``, ``group`` or ``tensor``
        component: embedding, attention, mlp, ...
        kind: what it does: ``query``, ``gate``, ``lm_head``, ...
        weights [parameters]: without biases; None where there are none
        biases [parameters]: None where there are none
        count [parameters]: of one layer
        status: ``counted``, ``tied`` or ``buffer``
        tied_to: the tensor that it is counted with; None where it is counted itself
    """

    path: str
    label: str
    indent: int
    level: str
    component: str
    kind: str
    weights: Formula | None
    biases: Formula | None
    count: Formula
    status: str = "counted"
    tied_to: str | None = None

    @property
    def value(self) -> int:
        """What the row adds: 0 unless it is counted."""
        return self.count.value if self.status == "counted" else 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "path": self.path,
            "label": self.label,
            "indent": self.indent,
            "level": self.level,
            "component": self.component,
            "kind": self.kind,
            "status": self.status,
            "tied_to": self.tied_to,
            "weights": dict_of(self.weights),
            "biases": dict_of(self.biases),
            "formula": self.count.to_dict(),
            "parameters": self.value,
        }


@dataclass(frozen=True)
class Share:
    """What one component takes: weights and biases apart. ``formula`` is None where it would be
    too long to read.

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
        return self.weights + self.biases

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "component": self.component,
            "weights": self.weights,
            "biases": self.biases,
            "parameters": self.value,
            "formula": dict_of(self.formula),
        }


@dataclass(frozen=True)
class Section:
    """Consecutive lines: modules outside the layers, or one layer of ``layers`` equal ones.

    ``one`` is the sum of the rows, ``total`` that sum times the number of layers; both None where
    too long. ``layers`` is empty outside the layers.

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
        return self.value * self.copies

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "title": self.title,
            "path": self.path,
            "layers": list(self.layers),
            "times": dict_of(self.times),
            "rows": [row.to_dict() for row in self.rows],
            "components": [share.to_dict() for share in self.shares],
            "one": dict_of(self.one),
            "one_value": self.value,
            "total": dict_of(self.total),
            "parameters": self.parameters,
        }
