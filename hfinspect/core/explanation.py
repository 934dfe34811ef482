"""What ``explain`` returns: the derivation of a model's parameter count, line by line.

``hfinspect/schemas/explanation.schema.json`` describes ``Explanation.to_dict()``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from .alternative_counts import Against, Approximation, Candidate, Measurement, NameSize
from .display import Shown, counted
from .expectation import Assumed, Beyond
from .formula import Formula
from .json_form import JsonForm
from .ledger_lines import Letter, Section, Share
from .overrides import Override
from .records import dataclass
from .refs import Origin
from .results import SCHEMA_VERSION, dict_of, weight_memory


@dataclass(frozen=True)
class Projection(JsonForm):
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


@dataclass(frozen=True)
class Attention(JsonForm):
    """An attention block: what it is in a sentence, and its projections.

    Fields:
        path: dotted path of the block
        sentence: what it is
        projections: its matrices
    """

    path: str
    sentence: str
    projections: tuple[Projection, ...]


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
        closed: one formula for the whole count; None if it is too long
        closed_note: why it is None, or what it omits
        parameters_with_head [parameters]: with a tied head counted separately; None without one
        active_parameters [parameters]: used per token; None if every token uses all of them
        embedding [parameters]: unique ones of embeddings
        tied: name left out -> name kept
        attention: each kind of attention block
        notes: (subject, remark)
        beyond: tensors in files that the class does not define
        assumed: the assumed class, if the config names none
        counts [parameters]: the total by other conventions
        approximation: 12·L·H² next to the exact total; None where it does not apply
        name_size: the size in the model's name; None where it has none
        measured: what the headers hold; None if only the config was read
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
