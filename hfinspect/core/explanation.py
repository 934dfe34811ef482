"""What ``explain`` returns: the derivation of a model's parameter count, line by line.

``hfinspect/schemas/explanation.schema.json`` describes ``Explanation.to_dict()``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from .alternative_counts import Against, Approximation, Candidate, Measurement, NameSize
from .display import Shown, counted
from .expectation import Assumed, Beyond
from .formula import Formula
from .json_form import JsonDocument, JsonForm
from .ledger_lines import Letter, Section, Share
from .overrides import Override
from .records import dataclass
from .refs import Origin
from .results import weight_memory
from .wholeness import Problem


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


class Remark(NamedTuple):
    """A sentence about a part of a model.

    Fields:
        about: the part
        text: the sentence
    """

    about: str
    text: str


@dataclass(frozen=True, repr=False, kw_only=True)
class Explanation(
    JsonDocument,
    Shown,
    names={
        "letters": "symbols",
        "shares": "components",
        "closed": "closed_form",
        "closed_note": "closed_form_note",
        "extra_tensors": "beyond",
    },
    after={"non_embedding": "embedding", "memory": "non_embedding"},
):
    """The derivation of a model's parameter count from its config.json.

    Fields:
        target: the model as it was named
        origin: what was read, and at which commit
        whole: as that of an inspection
        problems: as those of an inspection
        overrides: config keys that were changed for this answer
        model_type: of config.json
        architecture: the class that was derived
        letters: the symbols of the formulas
        sections: the ledger, in the order of the modules
        shares: sums by component
        parameters [parameters]: unique ones, exact; those of ``inspect`` on the same config
        closed: one formula for the whole count; None if it is too long
        closed_note: why it is None, or what it omits
        parameters_with_head [parameters]: with a tied head counted separately; None without one
        active_parameters [parameters]: used per token; None if every token uses all of them
        extra_tensors: tensors in the files that the class does not define; from a config, those
            that files may hold
        assumed: the assumed class, if the config names none
        embedding [parameters]: unique ones of embeddings
        nbytes [bytes]: as stored; None where unknown
        quantization: the method; None where weights are not quantised
        tied: name left out -> name kept
        attention: each kind of attention block
        notes: remarks, each with its subject
        counts [parameters]: the total by other conventions
        approximation: 12·L·H² next to the exact total; None where it does not apply
        name_size: the size in the model's name; None where it has none
        measured: what the headers hold; None if only the config was read
        against: the other count that was given; None without one
    """

    target: str
    origin: Origin
    whole: bool | None = None
    problems: tuple[Problem, ...] = ()
    overrides: tuple[Override, ...] = field(default=(), hash=False)
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
    extra_tensors: tuple[Beyond, ...] = ()
    assumed: Assumed | None = None
    embedding: int
    nbytes: int | None = None
    quantization: str | None = None
    tied: Mapping[str, str] = field(hash=False)
    attention: tuple[Attention, ...] = ()
    notes: tuple[Remark, ...] = ()
    counts: tuple[Candidate, ...] = ()
    approximation: Approximation | None = None
    name_size: NameSize | None = None
    measured: Measurement | None = None
    against: Against | None = None

    @property
    def non_embedding(self) -> int:
        """Parameters that are not of embeddings."""
        return self.parameters - self.embedding

    @property
    def memory(self) -> dict[str, int]:
        """Bytes of the weights at float32, 16 bits, int8 and int4."""
        return weight_memory(self.parameters)

    def _in_a_line(self) -> str:
        return f"{self.target}: {counted(self.parameters)}, {self.architecture}"
