"""What ``explain`` returns: the derivation of a model's parameter count, line by line.

``hfinspect/schemas/explanation.schema.json`` describes ``Explanation.to_dict()``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .display import Shown, counted
from .formula import Formula
from .overrides import Override
from .refs import Origin
from .results import SCHEMA_VERSION, Assumed, Beyond, weight_memory


@dataclass(frozen=True)
class Letter:
    """A symbol: its letter, the config key (or derived quantity), the number that it stands for
    and what it is, with how the number comes about where the config does not say it."""

    letter: str
    key: str
    value: int
    meaning: str


@dataclass(frozen=True)
class Row:
    """A line of the ledger: a module, a group of modules (with ``indent`` less than what it holds)
    or, ``level`` ``tensor``, one tensor of a module.

    Numbers are those of one layer inside a section of layers. ``status`` is ``counted``, or why
    the row adds nothing: ``tied``, ``buffer``.
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


@dataclass(frozen=True)
class Share:
    """What one component takes: weights and biases apart. ``formula`` is None where it would be
    too long to read."""

    component: str
    weights: int
    biases: int
    formula: Formula | None

    @property
    def value(self) -> int:
        return self.weights + self.biases


@dataclass(frozen=True)
class Section:
    """Consecutive lines: modules outside the layers, or one layer of ``layers`` equal ones.

    ``one`` is the sum of the rows, ``total`` that sum times the number of layers; both None where
    too long. ``layers`` is empty outside the layers.
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


@dataclass(frozen=True)
class Projection:
    """One projection of an attention: weights of a layer, of one head, and how many heads."""

    name: str
    weights: Formula
    per_head: Formula | None
    heads: int | None
    letter: str


@dataclass(frozen=True)
class Attention:
    """An attention block: what it is in a sentence, and its projections."""

    path: str
    sentence: str
    projections: tuple[Projection, ...]


@dataclass(frozen=True)
class Approximation:
    """``12·L·H²`` beside the truth, and what is left: total − embedding − 12·L·H²."""

    formula: Formula
    embedding: int
    non_embedding: int
    total: int
    rest: Formula | None

    @property
    def left_over(self) -> int:
        return self.total - self.embedding - self.formula.value


@dataclass(frozen=True)
class Candidate:
    """A way to count, and what it comes to."""

    name: str
    value: int


@dataclass(frozen=True)
class NameSize:
    """A size in the model's name. ``reached`` are the counts that round to it; where none does,
    ``nearest`` is the one that comes closest."""

    text: str
    low: int
    high: int
    says: str
    reached: tuple[Candidate, ...]
    nearest: Candidate


@dataclass(frozen=True)
class Difference:
    """A tensor that is held and not predicted (positive), or predicted and not held (negative)."""

    tensor: str
    reason: str
    parameters: int


@dataclass(frozen=True)
class Measurement:
    """What the headers hold beside what was derived. ``unexplained`` is what the differences,
    tensor by tensor, do not account for."""

    parameters: int | None
    components: Mapping[str, int | None] = field(hash=False)
    differences: tuple[Difference, ...]
    unexplained: int | None
    complete: bool = True


@dataclass(frozen=True)
class Convention:
    """A usual way to count otherwise: what it adds to (or takes from) the exact total."""

    name: str
    text: str
    delta: Formula | None
    value: int


@dataclass(frozen=True)
class Term:
    """One monomial of a closed form: its coefficient in the right one and in the other."""

    text: str
    value: int
    right: str
    other: str


@dataclass(frozen=True)
class Against:
    """``--against``: the smallest sets of conventions that lead from the exact total to a number.

    ``text`` is the number as written; ``fits`` are the counts, from the first up to the second,
    which is not one of them, that it stands for: several where it is rounded (``124M``).
    ``closed`` and ``other`` are the closed forms of the two, in the same letters; ``terms`` where
    they differ. Without ``readings`` none was found among ``searched`` conventions.
    """

    number: int
    difference: int
    readings: tuple[tuple[Convention, ...], ...]
    searched: int
    at_most: int
    text: str
    fits: tuple[int, int]
    closed: Formula | None = None
    other: Formula | None = None
    terms: tuple[Term, ...] = ()

    @property
    def rounded(self) -> bool:
        return self.fits[1] - self.fits[0] > 1

    @property
    def agrees(self) -> bool:
        """Whether the exact total is what was asked about."""
        return self.fits[0] <= self.number - self.difference < self.fits[1]


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """The derivation of a model's parameter count from its config.json.

    ``parameters`` is the exact unique count and equals that of ``inspect`` on the same config;
    ``beyond`` is what files hold, or may hold, next to it. ``nbytes`` are the bytes as stored, None
    where they are unknown, and ``quantization`` the method if the weights are quantised.
    """

    target: str
    origin: Origin
    model_type: str | None
    architecture: str
    letters: tuple[Letter, ...]
    sections: tuple[Section, ...]
    shares: tuple[Share, ...]
    parameters: int
    closed: Formula | None
    closed_note: str
    parameters_with_head: int | None
    active_parameters: int | None
    embedding: int
    tied: Mapping[str, str] = field(hash=False)
    attention: tuple[Attention, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    beyond: tuple[Beyond, ...] = ()
    assumed: Assumed | None = None
    counts: tuple[Candidate, ...] = ()
    approximation: Approximation | None = None
    name_size: NameSize | None = None
    measured: Measurement | None = None
    against: Against | None = None
    overrides: tuple[Override, ...] = field(default=(), hash=False)
    nbytes: int | None = None
    quantization: str | None = None

    @property
    def memory(self) -> dict[str, int]:
        """Bytes of the weights at float32, 16 bits, int8 and int4."""
        return weight_memory(self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form (schema version ``SCHEMA_VERSION``)."""
        from .explanation_serial import explanation_to_dict

        return {"schema_version": SCHEMA_VERSION, **explanation_to_dict(self)}

    def _in_a_line(self) -> str:
        return f"{self.target}: {counted(self.parameters)}, {self.architecture}"
