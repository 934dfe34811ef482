"""What ``explain`` returns: the derivation of a model's parameter count, line by line.

``hfinspect/schemas/explanation.schema.json`` describes ``Explanation.to_dict()``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from .display import Shown, counted
from .expectation import Assumed, Beyond
from .formula import Formula
from .overrides import Override
from .records import dataclass
from .refs import Origin
from .results import SCHEMA_VERSION, dict_of, weight_memory


@dataclass(frozen=True)
class Letter:
    """A symbol: its letter, the config key (or derived quantity), the number that it stands for
    and what it is, with how the number comes about where the config does not say it.

    Fields:
        letter: as the formulas have it, such as ``H``
        key: the config key, or the derived quantity
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
        layers [indices, from 0]: that are equal; empty outside of layers
        times: how many layers, as a formula; None outside of layers
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


@dataclass(frozen=True)
class Projection:
    """One projection of an attention: weights of a layer, of one head, and how many heads.

    Fields:
        name: of the projection
        weights [parameters]: of one layer
        per_head [parameters]: of one head; None where heads do not divide it
        heads [heads]: how many; None where heads do not divide it
        letter: of the number of heads
    """

    name: str
    weights: Formula
    per_head: Formula | None
    heads: int | None
    letter: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "name": self.name,
            "weights": self.weights.to_dict(),
            "per_head": dict_of(self.per_head),
            "heads": self.heads,
            "letter": self.letter,
        }


@dataclass(frozen=True)
class Attention:
    """An attention block: what it is in a sentence, and its projections.

    Fields:
        path: dotted path of the block
        sentence: what it is
        projections: its matrices
    """

    path: str
    sentence: str
    projections: tuple[Projection, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "path": self.path,
            "sentence": self.sentence,
            "projections": [one.to_dict() for one in self.projections],
        }


@dataclass(frozen=True)
class Approximation:
    """``12·L·H²`` next to the truth, and what is left: total − embedding − 12·L·H².

    Fields:
        formula: 12·L·H²
        embedding [parameters]: unique ones of embeddings
        non_embedding [parameters]: all others
        total [parameters]: the exact count
        rest: what is left over, as a formula; None where it is too long
    """

    formula: Formula
    embedding: int
    non_embedding: int
    total: int
    rest: Formula | None

    @property
    def left_over(self) -> int:
        return self.total - self.embedding - self.formula.value

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "formula": self.formula.to_dict(),
            "embedding": self.embedding,
            "non_embedding": self.non_embedding,
            "left_over": self.left_over,
            "left_over_formula": dict_of(self.rest),
        }


@dataclass(frozen=True)
class Candidate:
    """A way to count, and what it comes to.

    Fields:
        name: the way to count
        value [parameters]: what it comes to
    """

    name: str
    value: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"convention": self.name, "parameters": self.value}


@dataclass(frozen=True)
class NameSize:
    """A size in the model's name. ``reached`` are the counts that round to it; where none does,
    ``nearest`` is the one that comes closest.

    Fields:
        text: as the name has it, such as ``7B``
        low [parameters]: the first count that rounds to it
        high [parameters]: the first one after it that does not
        says: what the size means
        reached: the counts that round to it
        nearest: the count that comes closest
    """

    text: str
    low: int
    high: int
    says: str
    reached: tuple[Candidate, ...]
    nearest: Candidate

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "text": self.text,
            "says": self.says,
            "low": self.low,
            "high": self.high,
            "reached": [c.to_dict() for c in self.reached],
            "nearest": self.nearest.to_dict(),
        }


@dataclass(frozen=True)
class TensorDifference:
    """A tensor that is held and not predicted (positive), or predicted and not held (negative).

    Fields:
        tensor: its name
        reason: why it differs
        parameters [parameters]: held minus predicted
    """

    tensor: str
    reason: str
    parameters: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"tensor": self.tensor, "reason": self.reason, "parameters": self.parameters}


@dataclass(frozen=True)
class Measurement:
    """What the headers hold next to what was derived. ``unexplained`` is what the differences,
    tensor by tensor, do not account for.

    Fields:
        parameters [parameters]: unique ones in the headers; None where a packing is unknown
        components [parameters]: by component
        differences: tensors that differ
        unexplained [parameters]: what the differences leave open; None where unknown
        complete: False if a shard is missing
    """

    parameters: int | None
    components: Mapping[str, int | None] = field(hash=False)
    differences: tuple[TensorDifference, ...]
    unexplained: int | None
    complete: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "parameters": self.parameters,
            "components": dict(self.components),
            "complete": self.complete,
            "unexplained": self.unexplained,
            "differences": [one.to_dict() for one in self.differences],
        }


@dataclass(frozen=True)
class Convention:
    """A usual way to count otherwise: what it adds to (or takes from) the exact total.

    Fields:
        name: the way to count
        text: what it does, in a few words
        delta: what it adds or takes, as a formula; None where it is too long
        value [parameters]: what it adds, negative where it takes
    """

    name: str
    text: str
    delta: Formula | None
    value: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "name": self.name,
            "text": self.text,
            "delta": dict_of(self.delta),
            "value": self.value,
        }


@dataclass(frozen=True)
class Term:
    """One monomial of a closed form: its coefficient in the right one and in the other.

    Fields:
        text: the monomial
        value: what it stands for
        right: its coefficient in the exact closed form
        other: its coefficient in the other one
    """

    text: str
    value: int
    right: str
    other: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"term": self.text, "value": self.value, "right": self.right, "other": self.other}


@dataclass(frozen=True)
class Against:
    """``--against``: the smallest sets of conventions that lead from the exact total to a number.

    ``text`` is the number as written; ``fits`` are the counts, from the first up to the second,
    which is not one of them, that it stands for: several where it is rounded (``124M``).
    ``closed`` and ``other`` are the closed forms of the two, in the same letters; ``terms`` where
    they differ. Without ``readings`` none was found among ``searched`` conventions.

    Fields:
        number [parameters]: the count that was given
        difference [parameters]: given minus exact
        readings: the smallest sets of conventions that lead to it
        searched [conventions]: how many were tried
        at_most [conventions]: how many were combined
        text: the number as it was written
        fits [parameters]: first count that it stands for, first one after that it does not
        closed: the exact closed form; None where it is too long
        other: the closed form of the other count; None where there is none
        terms: where the two differ
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

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "text": self.text,
            "number": self.number,
            "rounds_from": self.fits[0],
            "rounds_to": self.fits[1] - 1,
            "difference": self.difference,
            "readings": [[c.to_dict() for c in reading] for reading in self.readings],
            "searched": self.searched,
            "at_most": self.at_most,
            "closed_form": dict_of(self.closed),
            "other_form": dict_of(self.other),
            "terms": [term.to_dict() for term in self.terms],
        }


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """The derivation of a model's parameter count from its config.json.

    ``parameters`` is the exact unique count and equals that of ``inspect`` on the same config;
    ``beyond`` is what files hold, or may hold, next to it. ``nbytes`` are the bytes as stored, None
    where they are unknown, and ``quantization`` the method if the weights are quantised.

    Fields:
        target: the model as it was named
        origin: what was read, and at which commit
        model_type: of config.json
        architecture: the class that was derived
        letters: the symbols of the formulas
        sections: the ledger, in the order of the modules
        shares: sums by component
        parameters [parameters]: unique ones, exact
        closed: one formula of the whole; None where it is too long
        closed_note: why there is none, or what it leaves out
        parameters_with_head [parameters]: with a tied head counted separately; None without one
        active_parameters [parameters]: that serve one token; None where that is all of them
        embedding [parameters]: unique ones of embeddings
        tied: name left out -> name kept
        attention: each kind of attention block
        notes: (subject, remark)
        beyond: what files hold, or may hold, and the class does not
        assumed: the class that was taken where the config names none
        counts [parameters]: the total by other conventions
        approximation: 12·L·H² next to the exact total; None where it does not apply
        name_size: the size in the model's name; None where it has none
        measured: what headers hold; None where only the config was read
        against: the other count that was given; None without one
        overrides: config keys that were changed for this answer
        nbytes [bytes]: as stored; None where unknown
        quantization: the method; None where weights are not quantised
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
        return {
            "schema_version": SCHEMA_VERSION,
            "target": self.target,
            "origin": self.origin.to_dict(),
            "overrides": [one.to_dict() for one in self.overrides],
            "model_type": self.model_type,
            "architecture": self.architecture,
            "symbols": [one.to_dict() for one in self.letters],
            "sections": [section.to_dict() for section in self.sections],
            "components": [share.to_dict() for share in self.shares],
            "parameters": self.parameters,
            "closed_form": dict_of(self.closed),
            "closed_form_note": self.closed_note,
            "parameters_with_head": self.parameters_with_head,
            "active_parameters": self.active_parameters,
            "beyond": [group.to_dict() for group in self.beyond],
            "assumed": dict_of(self.assumed),
            "embedding": self.embedding,
            "non_embedding": self.parameters - self.embedding,
            "memory": self.memory,
            "nbytes": self.nbytes,
            "quantization": self.quantization,
            "tied": dict(self.tied),
            "attention": [block.to_dict() for block in self.attention],
            "notes": [{"about": about, "text": text} for about, text in self.notes],
            "counts": [c.to_dict() for c in self.counts],
            "approximation": dict_of(self.approximation),
            "name_size": dict_of(self.name_size),
            "measured": dict_of(self.measured),
            "against": dict_of(self.against),
        }

    def _in_a_line(self) -> str:
        return f"{self.target}: {counted(self.parameters)}, {self.architecture}"
